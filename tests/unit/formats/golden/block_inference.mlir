module @block {
  func.func public @main(%arg0: tensor<?x?x8xf32> {webnnm.name = "words"}, %arg1: tensor<8xf32> {webnnm.name = "s1"}, %arg2: tensor<8xf32> {webnnm.name = "h1"}, %arg3: tensor<8x8xf32> {webnnm.name = "q1"}, %arg4: tensor<8x8xf32> {webnnm.name = "k1"}, %arg5: tensor<8x8xf32> {webnnm.name = "v1"}, %arg6: tensor<8x8xf32> {webnnm.name = "o1"}) -> (tensor<?x?x8xf32> {webnnm.name = "words"}) {
    %0 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %2 = "stablehlo.reduce"(%arg0, %0) <{dimensions = array<i64: 2>}> ({
    ^bb0(%in0: tensor<f32>, %in1: tensor<f32>):
      %1 = "stablehlo.add"(%in0, %in1) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%1) : (tensor<f32>) -> ()
    }) : (tensor<?x?x8xf32>, tensor<f32>) -> tensor<?x?xf32>
    %3 = "stablehlo.constant"() <{value = dense<8.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %4 = "stablehlo.get_dimension_size"(%arg0) <{dimension = 0 : i64}> : (tensor<?x?x8xf32>) -> tensor<i32>
    %5 = "stablehlo.reshape"(%4) : (tensor<i32>) -> tensor<1xi32>
    %6 = "stablehlo.get_dimension_size"(%arg0) <{dimension = 1 : i64}> : (tensor<?x?x8xf32>) -> tensor<i32>
    %7 = "stablehlo.reshape"(%6) : (tensor<i32>) -> tensor<1xi32>
    %8 = "stablehlo.concatenate"(%5, %7) <{dimension = 0 : i64}> : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %9 = "stablehlo.dynamic_broadcast_in_dim"(%3, %8) <{broadcast_dimensions = array<i64>}> : (tensor<f32>, tensor<2xi32>) -> tensor<?x?xf32>
    %10 = "stablehlo.divide"(%2, %9) : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
    %11 = "stablehlo.constant"() <{value = dense<1> : tensor<1xi32>}> : () -> tensor<1xi32>
    %12 = "stablehlo.concatenate"(%5, %7, %11) <{dimension = 0 : i64}> : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<3xi32>
    %13 = "stablehlo.dynamic_reshape"(%10, %12) : (tensor<?x?xf32>, tensor<3xi32>) -> tensor<?x?x1xf32>
    %14 = "stablehlo.constant"() <{value = dense<8> : tensor<1xi32>}> : () -> tensor<1xi32>
    %15 = "stablehlo.concatenate"(%5, %7, %14) <{dimension = 0 : i64}> : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<3xi32>
    %16 = "stablehlo.dynamic_broadcast_in_dim"(%13, %15) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<?x?x1xf32>, tensor<3xi32>) -> tensor<?x?x8xf32>
    %17 = "stablehlo.subtract"(%arg0, %16) : (tensor<?x?x8xf32>, tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
    %18 = "stablehlo.multiply"(%17, %17) : (tensor<?x?x8xf32>, tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
    %20 = "stablehlo.reduce"(%18, %0) <{dimensions = array<i64: 2>}> ({
    ^bb0(%in2: tensor<f32>, %in3: tensor<f32>):
      %19 = "stablehlo.add"(%in2, %in3) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%19) : (tensor<f32>) -> ()
    }) : (tensor<?x?x8xf32>, tensor<f32>) -> tensor<?x?xf32>
    %21 = "stablehlo.divide"(%20, %9) : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
    %22 = "stablehlo.dynamic_reshape"(%21, %12) : (tensor<?x?xf32>, tensor<3xi32>) -> tensor<?x?x1xf32>
    %23 = "stablehlo.constant"() <{value = dense<1.000000e-05> : tensor<f32>}> : () -> tensor<f32>
    %24 = "stablehlo.dynamic_broadcast_in_dim"(%23, %12) <{broadcast_dimensions = array<i64>}> : (tensor<f32>, tensor<3xi32>) -> tensor<?x?x1xf32>
    %25 = "stablehlo.add"(%22, %24) : (tensor<?x?x1xf32>, tensor<?x?x1xf32>) -> tensor<?x?x1xf32>
    %26 = "stablehlo.sqrt"(%25) : (tensor<?x?x1xf32>) -> tensor<?x?x1xf32>
    %27 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %28 = "stablehlo.dynamic_broadcast_in_dim"(%27, %12) <{broadcast_dimensions = array<i64>}> : (tensor<f32>, tensor<3xi32>) -> tensor<?x?x1xf32>
    %29 = "stablehlo.divide"(%28, %26) : (tensor<?x?x1xf32>, tensor<?x?x1xf32>) -> tensor<?x?x1xf32>
    %30 = "stablehlo.dynamic_broadcast_in_dim"(%29, %15) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<?x?x1xf32>, tensor<3xi32>) -> tensor<?x?x8xf32>
    %31 = "stablehlo.multiply"(%17, %30) : (tensor<?x?x8xf32>, tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
    %32 = "stablehlo.dynamic_broadcast_in_dim"(%arg1, %15) <{broadcast_dimensions = array<i64: 2>}> : (tensor<8xf32>, tensor<3xi32>) -> tensor<?x?x8xf32>
    %33 = "stablehlo.multiply"(%31, %32) : (tensor<?x?x8xf32>, tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
    %34 = "stablehlo.dynamic_broadcast_in_dim"(%arg2, %15) <{broadcast_dimensions = array<i64: 2>}> : (tensor<8xf32>, tensor<3xi32>) -> tensor<?x?x8xf32>
    %35 = "stablehlo.add"(%33, %34) : (tensor<?x?x8xf32>, tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
    %36 = "stablehlo.dot_general"(%35, %arg3) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>}> : (tensor<?x?x8xf32>, tensor<8x8xf32>) -> tensor<?x?x8xf32>
    %37 = "stablehlo.dot_general"(%35, %arg4) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>}> : (tensor<?x?x8xf32>, tensor<8x8xf32>) -> tensor<?x?x8xf32>
    %38 = "stablehlo.dot_general"(%35, %arg5) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>}> : (tensor<?x?x8xf32>, tensor<8x8xf32>) -> tensor<?x?x8xf32>
    %39 = "stablehlo.constant"() <{value = dense<2> : tensor<1xi32>}> : () -> tensor<1xi32>
    %40 = "stablehlo.constant"() <{value = dense<4> : tensor<1xi32>}> : () -> tensor<1xi32>
    %41 = "stablehlo.concatenate"(%5, %7, %39, %40) <{dimension = 0 : i64}> : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<4xi32>
    %42 = "stablehlo.dynamic_reshape"(%36, %41) : (tensor<?x?x8xf32>, tensor<4xi32>) -> tensor<?x?x2x4xf32>
    %43 = "stablehlo.transpose"(%42) <{permutation = array<i64: 0, 2, 1, 3>}> : (tensor<?x?x2x4xf32>) -> tensor<?x2x?x4xf32>
    %44 = "stablehlo.dynamic_reshape"(%37, %41) : (tensor<?x?x8xf32>, tensor<4xi32>) -> tensor<?x?x2x4xf32>
    %45 = "stablehlo.transpose"(%44) <{permutation = array<i64: 0, 2, 1, 3>}> : (tensor<?x?x2x4xf32>) -> tensor<?x2x?x4xf32>
    %46 = "stablehlo.dynamic_reshape"(%38, %41) : (tensor<?x?x8xf32>, tensor<4xi32>) -> tensor<?x?x2x4xf32>
    %47 = "stablehlo.transpose"(%46) <{permutation = array<i64: 0, 2, 1, 3>}> : (tensor<?x?x2x4xf32>) -> tensor<?x2x?x4xf32>
    %48 = "stablehlo.constant"() <{value = dense<5.000000e-01> : tensor<f32>}> : () -> tensor<f32>
    %49 = "stablehlo.concatenate"(%5, %39, %7, %40) <{dimension = 0 : i64}> : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<4xi32>
    %50 = "stablehlo.dynamic_broadcast_in_dim"(%48, %49) <{broadcast_dimensions = array<i64>}> : (tensor<f32>, tensor<4xi32>) -> tensor<?x2x?x4xf32>
    %51 = "stablehlo.multiply"(%43, %50) : (tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>) -> tensor<?x2x?x4xf32>
    %52 = "stablehlo.transpose"(%45) <{permutation = array<i64: 0, 1, 3, 2>}> : (tensor<?x2x?x4xf32>) -> tensor<?x2x4x?xf32>
    %53 = "stablehlo.dot_general"(%51, %52) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 1], rhs_batching_dimensions = [0, 1], lhs_contracting_dimensions = [3], rhs_contracting_dimensions = [2]>}> : (tensor<?x2x?x4xf32>, tensor<?x2x4x?xf32>) -> tensor<?x2x?x?xf32>
    %54 = "stablehlo.constant"() <{value = dense<-1.000000e+09> : tensor<f32>}> : () -> tensor<f32>
    %55 = "stablehlo.concatenate"(%7, %7) <{dimension = 0 : i64}> : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %56 = "stablehlo.dynamic_broadcast_in_dim"(%54, %55) <{broadcast_dimensions = array<i64>}> : (tensor<f32>, tensor<2xi32>) -> tensor<?x?xf32>
    %57 = "stablehlo.dynamic_iota"(%55) <{iota_dimension = 0 : i64}> : (tensor<2xi32>) -> tensor<?x?xi32>
    %58 = "stablehlo.dynamic_iota"(%55) <{iota_dimension = 1 : i64}> : (tensor<2xi32>) -> tensor<?x?xi32>
    %59 = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
    %60 = "stablehlo.dynamic_broadcast_in_dim"(%59, %55) <{broadcast_dimensions = array<i64>}> : (tensor<i32>, tensor<2xi32>) -> tensor<?x?xi32>
    %61 = "stablehlo.add"(%57, %60) : (tensor<?x?xi32>, tensor<?x?xi32>) -> tensor<?x?xi32>
    %62 = "stablehlo.compare"(%58, %61) <{comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<?x?xi32>, tensor<?x?xi32>) -> tensor<?x?xi1>
    %63 = "stablehlo.dynamic_broadcast_in_dim"(%0, %55) <{broadcast_dimensions = array<i64>}> : (tensor<f32>, tensor<2xi32>) -> tensor<?x?xf32>
    %64 = "stablehlo.select"(%62, %56, %63) : (tensor<?x?xi1>, tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
    %65 = "stablehlo.concatenate"(%5, %39, %7, %7) <{dimension = 0 : i64}> : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<4xi32>
    %66 = "stablehlo.dynamic_broadcast_in_dim"(%64, %65) <{broadcast_dimensions = array<i64: 2, 3>}> : (tensor<?x?xf32>, tensor<4xi32>) -> tensor<?x2x?x?xf32>
    %67 = "stablehlo.add"(%53, %66) : (tensor<?x2x?x?xf32>, tensor<?x2x?x?xf32>) -> tensor<?x2x?x?xf32>
    %68 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %70 = "stablehlo.reduce"(%67, %68) <{dimensions = array<i64: 3>}> ({
    ^bb0(%in4: tensor<f32>, %in5: tensor<f32>):
      %69 = "stablehlo.maximum"(%in4, %in5) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%69) : (tensor<f32>) -> ()
    }) : (tensor<?x2x?x?xf32>, tensor<f32>) -> tensor<?x2x?xf32>
    %71 = "stablehlo.concatenate"(%5, %39, %7, %11) <{dimension = 0 : i64}> : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<4xi32>
    %72 = "stablehlo.dynamic_reshape"(%70, %71) : (tensor<?x2x?xf32>, tensor<4xi32>) -> tensor<?x2x?x1xf32>
    %73 = "stablehlo.dynamic_broadcast_in_dim"(%72, %65) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<?x2x?x1xf32>, tensor<4xi32>) -> tensor<?x2x?x?xf32>
    %74 = "stablehlo.compare"(%67, %73) <{comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<?x2x?x?xf32>, tensor<?x2x?x?xf32>) -> tensor<?x2x?x?xi1>
    %75 = "stablehlo.dynamic_broadcast_in_dim"(%0, %65) <{broadcast_dimensions = array<i64>}> : (tensor<f32>, tensor<4xi32>) -> tensor<?x2x?x?xf32>
    %76 = "stablehlo.multiply"(%67, %75) : (tensor<?x2x?x?xf32>, tensor<?x2x?x?xf32>) -> tensor<?x2x?x?xf32>
    %77 = "stablehlo.subtract"(%67, %73) : (tensor<?x2x?x?xf32>, tensor<?x2x?x?xf32>) -> tensor<?x2x?x?xf32>
    %78 = "stablehlo.select"(%74, %76, %77) : (tensor<?x2x?x?xi1>, tensor<?x2x?x?xf32>, tensor<?x2x?x?xf32>) -> tensor<?x2x?x?xf32>
    %79 = "stablehlo.exponential"(%78) : (tensor<?x2x?x?xf32>) -> tensor<?x2x?x?xf32>
    %81 = "stablehlo.reduce"(%79, %0) <{dimensions = array<i64: 3>}> ({
    ^bb0(%in6: tensor<f32>, %in7: tensor<f32>):
      %80 = "stablehlo.add"(%in6, %in7) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%80) : (tensor<f32>) -> ()
    }) : (tensor<?x2x?x?xf32>, tensor<f32>) -> tensor<?x2x?xf32>
    %82 = "stablehlo.dynamic_reshape"(%81, %71) : (tensor<?x2x?xf32>, tensor<4xi32>) -> tensor<?x2x?x1xf32>
    %83 = "stablehlo.dynamic_broadcast_in_dim"(%82, %65) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<?x2x?x1xf32>, tensor<4xi32>) -> tensor<?x2x?x?xf32>
    %84 = "stablehlo.divide"(%79, %83) : (tensor<?x2x?x?xf32>, tensor<?x2x?x?xf32>) -> tensor<?x2x?x?xf32>
    %85 = "stablehlo.dot_general"(%84, %47) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 1], rhs_batching_dimensions = [0, 1], lhs_contracting_dimensions = [3], rhs_contracting_dimensions = [2]>}> : (tensor<?x2x?x?xf32>, tensor<?x2x?x4xf32>) -> tensor<?x2x?x4xf32>
    %86 = "stablehlo.transpose"(%85) <{permutation = array<i64: 0, 2, 1, 3>}> : (tensor<?x2x?x4xf32>) -> tensor<?x?x2x4xf32>
    %87 = "stablehlo.dynamic_reshape"(%86, %15) : (tensor<?x?x2x4xf32>, tensor<3xi32>) -> tensor<?x?x8xf32>
    %88 = "stablehlo.dot_general"(%87, %arg6) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>}> : (tensor<?x?x8xf32>, tensor<8x8xf32>) -> tensor<?x?x8xf32>
    %89 = "stablehlo.add"(%88, %arg0) : (tensor<?x?x8xf32>, tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
    %90 = "stablehlo.dynamic_broadcast_in_dim"(%48, %15) <{broadcast_dimensions = array<i64>}> : (tensor<f32>, tensor<3xi32>) -> tensor<?x?x8xf32>
    %91 = "stablehlo.multiply"(%89, %90) : (tensor<?x?x8xf32>, tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
    %92 = "stablehlo.constant"() <{value = dense<7.07106769e-01> : tensor<f32>}> : () -> tensor<f32>
    %93 = "stablehlo.dynamic_broadcast_in_dim"(%92, %15) <{broadcast_dimensions = array<i64>}> : (tensor<f32>, tensor<3xi32>) -> tensor<?x?x8xf32>
    %94 = "stablehlo.multiply"(%89, %93) : (tensor<?x?x8xf32>, tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
    %95 = "chlo.erf"(%94) : (tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
    %96 = "stablehlo.dynamic_broadcast_in_dim"(%27, %15) <{broadcast_dimensions = array<i64>}> : (tensor<f32>, tensor<3xi32>) -> tensor<?x?x8xf32>
    %97 = "stablehlo.add"(%95, %96) : (tensor<?x?x8xf32>, tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
    %98 = "stablehlo.multiply"(%91, %97) : (tensor<?x?x8xf32>, tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
    return %98 : tensor<?x?x8xf32>
  }
}
