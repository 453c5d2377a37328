module @iris {
  func.func public @main(%arg0: tensor<?x4xf32> {webnnm.name = "iris"}, %arg1: tensor<?x3xf32> {webnnm.name = "target/iris"}, %arg2: tensor<f32> {webnnm.name = "valid_count"}, %arg3: tensor<4x8xf32> {webnnm.name = "w1"}, %arg4: tensor<8xf32> {webnnm.name = "b1"}, %arg5: tensor<8x3xf32> {webnnm.name = "w2"}, %arg6: tensor<3xf32> {webnnm.name = "b2"}) -> (tensor<f32> {webnnm.name = "loss/iris"}) {
    %0 = "stablehlo.dot_general"(%arg0, %arg3) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<?x4xf32>, tensor<4x8xf32>) -> tensor<?x8xf32>
    %1 = "stablehlo.get_dimension_size"(%arg0) <{dimension = 0 : i64}> : (tensor<?x4xf32>) -> tensor<i32>
    %2 = "stablehlo.reshape"(%1) : (tensor<i32>) -> tensor<1xi32>
    %3 = "stablehlo.constant"() <{value = dense<8> : tensor<1xi32>}> : () -> tensor<1xi32>
    %4 = "stablehlo.concatenate"(%2, %3) <{dimension = 0 : i64}> : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %5 = "stablehlo.dynamic_broadcast_in_dim"(%arg4, %4) <{broadcast_dimensions = array<i64: 1>}> : (tensor<8xf32>, tensor<2xi32>) -> tensor<?x8xf32>
    %6 = "stablehlo.add"(%0, %5) : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
    %7 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %8 = "stablehlo.dynamic_broadcast_in_dim"(%7, %4) <{broadcast_dimensions = array<i64>}> : (tensor<f32>, tensor<2xi32>) -> tensor<?x8xf32>
    %9 = "stablehlo.maximum"(%6, %8) : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
    %10 = "stablehlo.dot_general"(%9, %arg5) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<?x8xf32>, tensor<8x3xf32>) -> tensor<?x3xf32>
    %11 = "stablehlo.constant"() <{value = dense<3> : tensor<1xi32>}> : () -> tensor<1xi32>
    %12 = "stablehlo.concatenate"(%2, %11) <{dimension = 0 : i64}> : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %13 = "stablehlo.dynamic_broadcast_in_dim"(%arg6, %12) <{broadcast_dimensions = array<i64: 1>}> : (tensor<3xf32>, tensor<2xi32>) -> tensor<?x3xf32>
    %14 = "stablehlo.add"(%10, %13) : (tensor<?x3xf32>, tensor<?x3xf32>) -> tensor<?x3xf32>
    %15 = "stablehlo.dynamic_iota"(%2) <{iota_dimension = 0 : i64}> : (tensor<1xi32>) -> tensor<?xi32>
    %16 = "stablehlo.convert"(%15) : (tensor<?xi32>) -> tensor<?xf32>
    %17 = "stablehlo.dynamic_broadcast_in_dim"(%arg2, %2) <{broadcast_dimensions = array<i64>}> : (tensor<f32>, tensor<1xi32>) -> tensor<?xf32>
    %18 = "stablehlo.compare"(%16, %17) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xi1>
    %19 = "stablehlo.convert"(%18) : (tensor<?xi1>) -> tensor<?xf32>
    %20 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %22 = "stablehlo.reduce"(%14, %20) <{dimensions = array<i64: 1>}> ({
    ^bb0(%in0: tensor<f32>, %in1: tensor<f32>):
      %21 = "stablehlo.maximum"(%in0, %in1) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%21) : (tensor<f32>) -> ()
    }) : (tensor<?x3xf32>, tensor<f32>) -> tensor<?xf32>
    %23 = "stablehlo.constant"() <{value = dense<1> : tensor<1xi32>}> : () -> tensor<1xi32>
    %24 = "stablehlo.concatenate"(%2, %23) <{dimension = 0 : i64}> : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %25 = "stablehlo.dynamic_reshape"(%22, %24) : (tensor<?xf32>, tensor<2xi32>) -> tensor<?x1xf32>
    %26 = "stablehlo.dynamic_broadcast_in_dim"(%25, %12) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<?x1xf32>, tensor<2xi32>) -> tensor<?x3xf32>
    %27 = "stablehlo.compare"(%14, %26) <{comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<?x3xf32>, tensor<?x3xf32>) -> tensor<?x3xi1>
    %28 = "stablehlo.dynamic_broadcast_in_dim"(%7, %12) <{broadcast_dimensions = array<i64>}> : (tensor<f32>, tensor<2xi32>) -> tensor<?x3xf32>
    %29 = "stablehlo.multiply"(%14, %28) : (tensor<?x3xf32>, tensor<?x3xf32>) -> tensor<?x3xf32>
    %30 = "stablehlo.subtract"(%14, %26) : (tensor<?x3xf32>, tensor<?x3xf32>) -> tensor<?x3xf32>
    %31 = "stablehlo.select"(%27, %29, %30) : (tensor<?x3xi1>, tensor<?x3xf32>, tensor<?x3xf32>) -> tensor<?x3xf32>
    %32 = "stablehlo.exponential"(%31) : (tensor<?x3xf32>) -> tensor<?x3xf32>
    %34 = "stablehlo.reduce"(%32, %7) <{dimensions = array<i64: 1>}> ({
    ^bb0(%in2: tensor<f32>, %in3: tensor<f32>):
      %33 = "stablehlo.add"(%in2, %in3) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%33) : (tensor<f32>) -> ()
    }) : (tensor<?x3xf32>, tensor<f32>) -> tensor<?xf32>
    %35 = "stablehlo.dynamic_reshape"(%34, %24) : (tensor<?xf32>, tensor<2xi32>) -> tensor<?x1xf32>
    %36 = "stablehlo.log"(%35) : (tensor<?x1xf32>) -> tensor<?x1xf32>
    %37 = "stablehlo.dynamic_broadcast_in_dim"(%36, %12) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<?x1xf32>, tensor<2xi32>) -> tensor<?x3xf32>
    %38 = "stablehlo.subtract"(%31, %37) : (tensor<?x3xf32>, tensor<?x3xf32>) -> tensor<?x3xf32>
    %39 = "stablehlo.multiply"(%arg1, %38) : (tensor<?x3xf32>, tensor<?x3xf32>) -> tensor<?x3xf32>
    %40 = "stablehlo.negate"(%39) : (tensor<?x3xf32>) -> tensor<?x3xf32>
    %42 = "stablehlo.reduce"(%40, %7) <{dimensions = array<i64: 1>}> ({
    ^bb0(%in4: tensor<f32>, %in5: tensor<f32>):
      %41 = "stablehlo.add"(%in4, %in5) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%41) : (tensor<f32>) -> ()
    }) : (tensor<?x3xf32>, tensor<f32>) -> tensor<?xf32>
    %43 = "stablehlo.multiply"(%42, %19) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    %45 = "stablehlo.reduce"(%43, %7) <{dimensions = array<i64: 0>}> ({
    ^bb0(%in6: tensor<f32>, %in7: tensor<f32>):
      %44 = "stablehlo.add"(%in6, %in7) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%44) : (tensor<f32>) -> ()
    }) : (tensor<?xf32>, tensor<f32>) -> tensor<f32>
    %46 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %47 = "stablehlo.multiply"(%arg2, %46) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %48 = "stablehlo.maximum"(%47, %46) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %49 = "stablehlo.divide"(%45, %48) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    return %49 : tensor<f32>
  }
}
