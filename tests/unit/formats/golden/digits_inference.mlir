module @digits {
  func.func public @main(%arg0: tensor<?x1x8x8xf32> {webnnm.name = "digits"}, %arg1: tensor<4x1x3x3xf32> {webnnm.name = "f1"}, %arg2: tensor<4xf32> {webnnm.name = "g1"}, %arg3: tensor<4xf32> {webnnm.name = "h1"}, %arg4: tensor<4xf32> {webnnm.name = "mean1"}, %arg5: tensor<4xf32> {webnnm.name = "variance1"}, %arg6: tensor<16x4xf32> {webnnm.name = "w1"}, %arg7: tensor<4xf32> {webnnm.name = "b1"}) -> (tensor<?x4xf32> {webnnm.name = "digits"}) {
    %0 = "stablehlo.convolution"(%arg0, %arg1) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]>, feature_group_count = 1 : i64, lhs_dilation = array<i64: 1, 1>, padding = dense<[[1, 1], [1, 1]]> : tensor<2x2xi64>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, window_strides = array<i64: 1, 1>}> : (tensor<?x1x8x8xf32>, tensor<4x1x3x3xf32>) -> tensor<?x4x8x8xf32>
    %1 = "stablehlo.constant"() <{value = dense<1.000000e-05> : tensor<f32>}> : () -> tensor<f32>
    %2 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4xf32>
    %3 = "stablehlo.add"(%arg5, %2) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %4 = "stablehlo.sqrt"(%3) : (tensor<4xf32>) -> tensor<4xf32>
    %5 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<4xf32>}> : () -> tensor<4xf32>
    %6 = "stablehlo.divide"(%5, %4) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %7 = "stablehlo.multiply"(%6, %arg2) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %8 = "stablehlo.reshape"(%arg4) : (tensor<4xf32>) -> tensor<4x1x1xf32>
    %9 = "stablehlo.get_dimension_size"(%arg0) <{dimension = 0 : i64}> : (tensor<?x1x8x8xf32>) -> tensor<i32>
    %10 = "stablehlo.reshape"(%9) : (tensor<i32>) -> tensor<1xi32>
    %11 = "stablehlo.constant"() <{value = dense<4> : tensor<1xi32>}> : () -> tensor<1xi32>
    %12 = "stablehlo.constant"() <{value = dense<8> : tensor<1xi32>}> : () -> tensor<1xi32>
    %13 = "stablehlo.concatenate"(%10, %11, %12, %12) <{dimension = 0 : i64}> : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<4xi32>
    %14 = "stablehlo.dynamic_broadcast_in_dim"(%8, %13) <{broadcast_dimensions = array<i64: 1, 2, 3>}> : (tensor<4x1x1xf32>, tensor<4xi32>) -> tensor<?x4x8x8xf32>
    %15 = "stablehlo.subtract"(%0, %14) : (tensor<?x4x8x8xf32>, tensor<?x4x8x8xf32>) -> tensor<?x4x8x8xf32>
    %16 = "stablehlo.reshape"(%arg3) : (tensor<4xf32>) -> tensor<4x1x1xf32>
    %17 = "stablehlo.reshape"(%7) : (tensor<4xf32>) -> tensor<4x1x1xf32>
    %18 = "stablehlo.dynamic_broadcast_in_dim"(%17, %13) <{broadcast_dimensions = array<i64: 1, 2, 3>}> : (tensor<4x1x1xf32>, tensor<4xi32>) -> tensor<?x4x8x8xf32>
    %19 = "stablehlo.multiply"(%15, %18) : (tensor<?x4x8x8xf32>, tensor<?x4x8x8xf32>) -> tensor<?x4x8x8xf32>
    %20 = "stablehlo.dynamic_broadcast_in_dim"(%16, %13) <{broadcast_dimensions = array<i64: 1, 2, 3>}> : (tensor<4x1x1xf32>, tensor<4xi32>) -> tensor<?x4x8x8xf32>
    %21 = "stablehlo.add"(%19, %20) : (tensor<?x4x8x8xf32>, tensor<?x4x8x8xf32>) -> tensor<?x4x8x8xf32>
    %22 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %24 = "stablehlo.reduce_window"(%21, %22) <{base_dilations = array<i64: 1, 1, 1, 1>, padding = dense<[[0, 0], [0, 0], [0, 0], [0, 0]]> : tensor<4x2xi64>, window_dilations = array<i64: 1, 1, 1, 1>, window_dimensions = array<i64: 1, 1, 2, 2>, window_strides = array<i64: 1, 1, 2, 2>}> ({
    ^bb0(%in0: tensor<f32>, %in1: tensor<f32>):
      %23 = "stablehlo.maximum"(%in0, %in1) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%23) : (tensor<f32>) -> ()
    }) : (tensor<?x4x8x8xf32>, tensor<f32>) -> tensor<?x4x4x4xf32>
    %25 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %26 = "stablehlo.concatenate"(%10, %11, %11, %11) <{dimension = 0 : i64}> : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<4xi32>
    %27 = "stablehlo.dynamic_broadcast_in_dim"(%25, %26) <{broadcast_dimensions = array<i64>}> : (tensor<f32>, tensor<4xi32>) -> tensor<?x4x4x4xf32>
    %28 = "stablehlo.maximum"(%24, %27) : (tensor<?x4x4x4xf32>, tensor<?x4x4x4xf32>) -> tensor<?x4x4x4xf32>
    %29 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<1x1x4x4xf32>}> : () -> tensor<1x1x4x4xf32>
    %31 = "stablehlo.reduce_window"(%29, %25) <{base_dilations = array<i64: 1, 1, 1, 1>, padding = dense<[[0, 0], [0, 0], [0, 0], [0, 0]]> : tensor<4x2xi64>, window_dilations = array<i64: 1, 1, 1, 1>, window_dimensions = array<i64: 1, 1, 2, 2>, window_strides = array<i64: 1, 1, 2, 2>}> ({
    ^bb0(%in2: tensor<f32>, %in3: tensor<f32>):
      %30 = "stablehlo.add"(%in2, %in3) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%30) : (tensor<f32>) -> ()
    }) : (tensor<1x1x4x4xf32>, tensor<f32>) -> tensor<1x1x2x2xf32>
    %33 = "stablehlo.reduce_window"(%28, %25) <{base_dilations = array<i64: 1, 1, 1, 1>, padding = dense<[[0, 0], [0, 0], [0, 0], [0, 0]]> : tensor<4x2xi64>, window_dilations = array<i64: 1, 1, 1, 1>, window_dimensions = array<i64: 1, 1, 2, 2>, window_strides = array<i64: 1, 1, 2, 2>}> ({
    ^bb0(%in4: tensor<f32>, %in5: tensor<f32>):
      %32 = "stablehlo.add"(%in4, %in5) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%32) : (tensor<f32>) -> ()
    }) : (tensor<?x4x4x4xf32>, tensor<f32>) -> tensor<?x4x2x2xf32>
    %34 = "stablehlo.constant"() <{value = dense<2> : tensor<1xi32>}> : () -> tensor<1xi32>
    %35 = "stablehlo.concatenate"(%10, %11, %34, %34) <{dimension = 0 : i64}> : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<4xi32>
    %36 = "stablehlo.dynamic_broadcast_in_dim"(%31, %35) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x1x2x2xf32>, tensor<4xi32>) -> tensor<?x4x2x2xf32>
    %37 = "stablehlo.divide"(%33, %36) : (tensor<?x4x2x2xf32>, tensor<?x4x2x2xf32>) -> tensor<?x4x2x2xf32>
    %38 = "stablehlo.constant"() <{value = dense<16> : tensor<1xi32>}> : () -> tensor<1xi32>
    %39 = "stablehlo.concatenate"(%10, %38) <{dimension = 0 : i64}> : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %40 = "stablehlo.dynamic_reshape"(%37, %39) : (tensor<?x4x2x2xf32>, tensor<2xi32>) -> tensor<?x16xf32>
    %41 = "stablehlo.dot_general"(%40, %arg6) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<?x16xf32>, tensor<16x4xf32>) -> tensor<?x4xf32>
    %42 = "stablehlo.concatenate"(%10, %11) <{dimension = 0 : i64}> : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %43 = "stablehlo.dynamic_broadcast_in_dim"(%arg7, %42) <{broadcast_dimensions = array<i64: 1>}> : (tensor<4xf32>, tensor<2xi32>) -> tensor<?x4xf32>
    %44 = "stablehlo.add"(%41, %43) : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    %46 = "stablehlo.reduce"(%44, %22) <{dimensions = array<i64: 1>}> ({
    ^bb0(%in6: tensor<f32>, %in7: tensor<f32>):
      %45 = "stablehlo.maximum"(%in6, %in7) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%45) : (tensor<f32>) -> ()
    }) : (tensor<?x4xf32>, tensor<f32>) -> tensor<?xf32>
    %47 = "stablehlo.constant"() <{value = dense<1> : tensor<1xi32>}> : () -> tensor<1xi32>
    %48 = "stablehlo.concatenate"(%10, %47) <{dimension = 0 : i64}> : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %49 = "stablehlo.dynamic_reshape"(%46, %48) : (tensor<?xf32>, tensor<2xi32>) -> tensor<?x1xf32>
    %50 = "stablehlo.dynamic_broadcast_in_dim"(%49, %42) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<?x1xf32>, tensor<2xi32>) -> tensor<?x4xf32>
    %51 = "stablehlo.compare"(%44, %50) <{comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xi1>
    %52 = "stablehlo.dynamic_broadcast_in_dim"(%25, %42) <{broadcast_dimensions = array<i64>}> : (tensor<f32>, tensor<2xi32>) -> tensor<?x4xf32>
    %53 = "stablehlo.multiply"(%44, %52) : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    %54 = "stablehlo.subtract"(%44, %50) : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    %55 = "stablehlo.select"(%51, %53, %54) : (tensor<?x4xi1>, tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    %56 = "stablehlo.exponential"(%55) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %58 = "stablehlo.reduce"(%56, %25) <{dimensions = array<i64: 1>}> ({
    ^bb0(%in8: tensor<f32>, %in9: tensor<f32>):
      %57 = "stablehlo.add"(%in8, %in9) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%57) : (tensor<f32>) -> ()
    }) : (tensor<?x4xf32>, tensor<f32>) -> tensor<?xf32>
    %59 = "stablehlo.dynamic_reshape"(%58, %48) : (tensor<?xf32>, tensor<2xi32>) -> tensor<?x1xf32>
    %60 = "stablehlo.dynamic_broadcast_in_dim"(%59, %42) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<?x1xf32>, tensor<2xi32>) -> tensor<?x4xf32>
    %61 = "stablehlo.divide"(%56, %60) : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    return %61 : tensor<?x4xf32>
  }
}
