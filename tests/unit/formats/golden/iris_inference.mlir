module @iris {
  func.func public @main(%arg0: tensor<5x4xf32> {webnnm.name = "iris"}, %arg1: tensor<4x8xf32> {webnnm.name = "w1"}, %arg2: tensor<8xf32> {webnnm.name = "b1"}, %arg3: tensor<8x3xf32> {webnnm.name = "w2"}, %arg4: tensor<3xf32> {webnnm.name = "b2"}) -> (tensor<5x3xf32> {webnnm.name = "iris"}) {
    %0 = "stablehlo.dot_general"(%arg0, %arg1) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<5x4xf32>, tensor<4x8xf32>) -> tensor<5x8xf32>
    %1 = "stablehlo.broadcast_in_dim"(%arg2) <{broadcast_dimensions = array<i64: 1>}> : (tensor<8xf32>) -> tensor<5x8xf32>
    %2 = "stablehlo.add"(%0, %1) : (tensor<5x8xf32>, tensor<5x8xf32>) -> tensor<5x8xf32>
    %3 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<5x8xf32>}> : () -> tensor<5x8xf32>
    %4 = "stablehlo.maximum"(%2, %3) : (tensor<5x8xf32>, tensor<5x8xf32>) -> tensor<5x8xf32>
    %5 = "stablehlo.dot_general"(%4, %arg3) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<5x8xf32>, tensor<8x3xf32>) -> tensor<5x3xf32>
    %6 = "stablehlo.broadcast_in_dim"(%arg4) <{broadcast_dimensions = array<i64: 1>}> : (tensor<3xf32>) -> tensor<5x3xf32>
    %7 = "stablehlo.add"(%5, %6) : (tensor<5x3xf32>, tensor<5x3xf32>) -> tensor<5x3xf32>
    %8 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %10 = "stablehlo.reduce"(%7, %8) <{dimensions = array<i64: 1>}> ({
    ^bb0(%in0: tensor<f32>, %in1: tensor<f32>):
      %9 = "stablehlo.maximum"(%in0, %in1) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%9) : (tensor<f32>) -> ()
    }) : (tensor<5x3xf32>, tensor<f32>) -> tensor<5xf32>
    %11 = "stablehlo.reshape"(%10) : (tensor<5xf32>) -> tensor<5x1xf32>
    %12 = "stablehlo.broadcast_in_dim"(%11) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<5x1xf32>) -> tensor<5x3xf32>
    %13 = "stablehlo.compare"(%7, %12) <{comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<5x3xf32>, tensor<5x3xf32>) -> tensor<5x3xi1>
    %14 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<5x3xf32>}> : () -> tensor<5x3xf32>
    %15 = "stablehlo.multiply"(%7, %14) : (tensor<5x3xf32>, tensor<5x3xf32>) -> tensor<5x3xf32>
    %16 = "stablehlo.subtract"(%7, %12) : (tensor<5x3xf32>, tensor<5x3xf32>) -> tensor<5x3xf32>
    %17 = "stablehlo.select"(%13, %15, %16) : (tensor<5x3xi1>, tensor<5x3xf32>, tensor<5x3xf32>) -> tensor<5x3xf32>
    %18 = "stablehlo.exponential"(%17) : (tensor<5x3xf32>) -> tensor<5x3xf32>
    %19 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %21 = "stablehlo.reduce"(%18, %19) <{dimensions = array<i64: 1>}> ({
    ^bb0(%in2: tensor<f32>, %in3: tensor<f32>):
      %20 = "stablehlo.add"(%in2, %in3) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%20) : (tensor<f32>) -> ()
    }) : (tensor<5x3xf32>, tensor<f32>) -> tensor<5xf32>
    %22 = "stablehlo.reshape"(%21) : (tensor<5xf32>) -> tensor<5x1xf32>
    %23 = "stablehlo.broadcast_in_dim"(%22) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<5x1xf32>) -> tensor<5x3xf32>
    %24 = "stablehlo.divide"(%18, %23) : (tensor<5x3xf32>, tensor<5x3xf32>) -> tensor<5x3xf32>
    return %24 : tensor<5x3xf32>
  }
}
