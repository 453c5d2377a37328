module @iris {
  func.func public @main(%arg0: tensor<5x4xf32> {webnnm.name = "iris"}, %arg1: tensor<5x3xf32> {webnnm.name = "target/iris"}, %arg2: tensor<f32> {webnnm.name = "valid_count"}, %arg3: tensor<4x8xf32> {webnnm.name = "w1"}, %arg4: tensor<8xf32> {webnnm.name = "b1"}, %arg5: tensor<8x3xf32> {webnnm.name = "w2"}, %arg6: tensor<3xf32> {webnnm.name = "b2"}, %arg7: tensor<f32> {webnnm.name = "scale/value"}, %arg8: tensor<f32> {webnnm.name = "scale/clean"}, %arg9: tensor<f32> {webnnm.name = "scale/streak"}, %arg10: tensor<f32> {webnnm.name = "clip/mean"}, %arg11: tensor<f32> {webnnm.name = "clip/deviation"}, %arg12: tensor<f32> {webnnm.name = "clip/count"}, %arg13: tensor<4x8xf32> {webnnm.name = "opt/v/w1"}, %arg14: tensor<8xf32> {webnnm.name = "opt/v/b1"}, %arg15: tensor<8x3xf32> {webnnm.name = "opt/v/w2"}, %arg16: tensor<3xf32> {webnnm.name = "opt/v/b2"}, %arg17: tensor<f32> {webnnm.name = "lr"}, %arg18: tensor<f32> {webnnm.name = "1/S"}) -> (tensor<4x8xf32> {webnnm.name = "w1"}, tensor<8xf32> {webnnm.name = "b1"}, tensor<8x3xf32> {webnnm.name = "w2"}, tensor<3xf32> {webnnm.name = "b2"}, tensor<f32> {webnnm.name = "scale/value"}, tensor<f32> {webnnm.name = "scale/clean"}, tensor<f32> {webnnm.name = "scale/streak"}, tensor<f32> {webnnm.name = "clip/mean"}, tensor<f32> {webnnm.name = "clip/deviation"}, tensor<f32> {webnnm.name = "clip/count"}, tensor<4x8xf32> {webnnm.name = "opt/v/w1"}, tensor<8xf32> {webnnm.name = "opt/v/b1"}, tensor<8x3xf32> {webnnm.name = "opt/v/w2"}, tensor<3xf32> {webnnm.name = "opt/v/b2"}, tensor<f32> {webnnm.name = "loss/iris"}, tensor<ui8> {webnnm.name = "overflow"}) {
    %0 = "stablehlo.constant"() <{value = dense<[0.000000e+00, 1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00]> : tensor<5xf32>}> : () -> tensor<5xf32>
    %1 = "stablehlo.broadcast_in_dim"(%arg2) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<5xf32>
    %2 = "stablehlo.compare"(%0, %1) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xi1>
    %3 = "stablehlo.convert"(%2) : (tensor<5xi1>) -> tensor<5xf32>
    %4 = "stablehlo.dot_general"(%arg0, %arg3) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<5x4xf32>, tensor<4x8xf32>) -> tensor<5x8xf32>
    %5 = "stablehlo.broadcast_in_dim"(%arg4) <{broadcast_dimensions = array<i64: 1>}> : (tensor<8xf32>) -> tensor<5x8xf32>
    %6 = "stablehlo.add"(%4, %5) : (tensor<5x8xf32>, tensor<5x8xf32>) -> tensor<5x8xf32>
    %7 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<5x8xf32>}> : () -> tensor<5x8xf32>
    %8 = "stablehlo.maximum"(%6, %7) : (tensor<5x8xf32>, tensor<5x8xf32>) -> tensor<5x8xf32>
    %9 = "stablehlo.dot_general"(%8, %arg5) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<5x8xf32>, tensor<8x3xf32>) -> tensor<5x3xf32>
    %10 = "stablehlo.broadcast_in_dim"(%arg6) <{broadcast_dimensions = array<i64: 1>}> : (tensor<3xf32>) -> tensor<5x3xf32>
    %11 = "stablehlo.add"(%9, %10) : (tensor<5x3xf32>, tensor<5x3xf32>) -> tensor<5x3xf32>
    %12 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %14 = "stablehlo.reduce"(%11, %12) <{dimensions = array<i64: 1>}> ({
    ^bb0(%in0: tensor<f32>, %in1: tensor<f32>):
      %13 = "stablehlo.maximum"(%in0, %in1) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%13) : (tensor<f32>) -> ()
    }) : (tensor<5x3xf32>, tensor<f32>) -> tensor<5xf32>
    %15 = "stablehlo.reshape"(%14) : (tensor<5xf32>) -> tensor<5x1xf32>
    %16 = "stablehlo.broadcast_in_dim"(%15) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<5x1xf32>) -> tensor<5x3xf32>
    %17 = "stablehlo.subtract"(%11, %16) : (tensor<5x3xf32>, tensor<5x3xf32>) -> tensor<5x3xf32>
    %18 = "stablehlo.exponential"(%17) : (tensor<5x3xf32>) -> tensor<5x3xf32>
    %19 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %21 = "stablehlo.reduce"(%18, %19) <{dimensions = array<i64: 1>}> ({
    ^bb0(%in2: tensor<f32>, %in3: tensor<f32>):
      %20 = "stablehlo.add"(%in2, %in3) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%20) : (tensor<f32>) -> ()
    }) : (tensor<5x3xf32>, tensor<f32>) -> tensor<5xf32>
    %22 = "stablehlo.reshape"(%21) : (tensor<5xf32>) -> tensor<5x1xf32>
    %23 = "stablehlo.log"(%22) : (tensor<5x1xf32>) -> tensor<5x1xf32>
    %24 = "stablehlo.broadcast_in_dim"(%23) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<5x1xf32>) -> tensor<5x3xf32>
    %25 = "stablehlo.subtract"(%17, %24) : (tensor<5x3xf32>, tensor<5x3xf32>) -> tensor<5x3xf32>
    %26 = "stablehlo.multiply"(%arg1, %25) : (tensor<5x3xf32>, tensor<5x3xf32>) -> tensor<5x3xf32>
    %27 = "stablehlo.negate"(%26) : (tensor<5x3xf32>) -> tensor<5x3xf32>
    %29 = "stablehlo.reduce"(%27, %19) <{dimensions = array<i64: 1>}> ({
    ^bb0(%in4: tensor<f32>, %in5: tensor<f32>):
      %28 = "stablehlo.add"(%in4, %in5) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%28) : (tensor<f32>) -> ()
    }) : (tensor<5x3xf32>, tensor<f32>) -> tensor<5xf32>
    %30 = "stablehlo.multiply"(%29, %3) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    %32 = "stablehlo.reduce"(%30, %19) <{dimensions = array<i64: 0>}> ({
    ^bb0(%in6: tensor<f32>, %in7: tensor<f32>):
      %31 = "stablehlo.add"(%in6, %in7) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%31) : (tensor<f32>) -> ()
    }) : (tensor<5xf32>, tensor<f32>) -> tensor<f32>
    %33 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %34 = "stablehlo.multiply"(%arg2, %33) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %35 = "stablehlo.maximum"(%34, %33) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %36 = "stablehlo.divide"(%32, %35) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %37 = "stablehlo.divide"(%arg7, %35) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %38 = "stablehlo.reshape"(%37) : (tensor<f32>) -> tensor<1xf32>
    %39 = "stablehlo.broadcast_in_dim"(%38) <{broadcast_dimensions = array<i64: 0>}> : (tensor<1xf32>) -> tensor<5xf32>
    %40 = "stablehlo.multiply"(%39, %3) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    %41 = "stablehlo.reshape"(%40) : (tensor<5xf32>) -> tensor<5x1xf32>
    %42 = "stablehlo.broadcast_in_dim"(%41) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<5x1xf32>) -> tensor<5x3xf32>
    %43 = "stablehlo.negate"(%42) : (tensor<5x3xf32>) -> tensor<5x3xf32>
    %44 = "stablehlo.multiply"(%43, %arg1) : (tensor<5x3xf32>, tensor<5x3xf32>) -> tensor<5x3xf32>
    %45 = "stablehlo.exponential"(%25) : (tensor<5x3xf32>) -> tensor<5x3xf32>
    %47 = "stablehlo.reduce"(%44, %19) <{dimensions = array<i64: 1>}> ({
    ^bb0(%in8: tensor<f32>, %in9: tensor<f32>):
      %46 = "stablehlo.add"(%in8, %in9) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%46) : (tensor<f32>) -> ()
    }) : (tensor<5x3xf32>, tensor<f32>) -> tensor<5xf32>
    %48 = "stablehlo.reshape"(%47) : (tensor<5xf32>) -> tensor<5x1xf32>
    %49 = "stablehlo.broadcast_in_dim"(%48) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<5x1xf32>) -> tensor<5x3xf32>
    %50 = "stablehlo.multiply"(%45, %49) : (tensor<5x3xf32>, tensor<5x3xf32>) -> tensor<5x3xf32>
    %51 = "stablehlo.subtract"(%44, %50) : (tensor<5x3xf32>, tensor<5x3xf32>) -> tensor<5x3xf32>
    %53 = "stablehlo.reduce"(%51, %19) <{dimensions = array<i64: 0>}> ({
    ^bb0(%in10: tensor<f32>, %in11: tensor<f32>):
      %52 = "stablehlo.add"(%in10, %in11) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%52) : (tensor<f32>) -> ()
    }) : (tensor<5x3xf32>, tensor<f32>) -> tensor<3xf32>
    %54 = "stablehlo.transpose"(%arg5) <{permutation = array<i64: 1, 0>}> : (tensor<8x3xf32>) -> tensor<3x8xf32>
    %55 = "stablehlo.dot_general"(%51, %54) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<5x3xf32>, tensor<3x8xf32>) -> tensor<5x8xf32>
    %56 = "stablehlo.transpose"(%8) <{permutation = array<i64: 1, 0>}> : (tensor<5x8xf32>) -> tensor<8x5xf32>
    %57 = "stablehlo.dot_general"(%56, %51) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<8x5xf32>, tensor<5x3xf32>) -> tensor<8x3xf32>
    %58 = "stablehlo.ceil"(%8) : (tensor<5x8xf32>) -> tensor<5x8xf32>
    %59 = "stablehlo.broadcast_in_dim"(%33) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<5x8xf32>
    %60 = "stablehlo.minimum"(%58, %59) : (tensor<5x8xf32>, tensor<5x8xf32>) -> tensor<5x8xf32>
    %61 = "stablehlo.multiply"(%55, %60) : (tensor<5x8xf32>, tensor<5x8xf32>) -> tensor<5x8xf32>
    %63 = "stablehlo.reduce"(%61, %19) <{dimensions = array<i64: 0>}> ({
    ^bb0(%in12: tensor<f32>, %in13: tensor<f32>):
      %62 = "stablehlo.add"(%in12, %in13) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%62) : (tensor<f32>) -> ()
    }) : (tensor<5x8xf32>, tensor<f32>) -> tensor<8xf32>
    %64 = "stablehlo.transpose"(%arg0) <{permutation = array<i64: 1, 0>}> : (tensor<5x4xf32>) -> tensor<4x5xf32>
    %65 = "stablehlo.dot_general"(%64, %61) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<4x5xf32>, tensor<5x8xf32>) -> tensor<4x8xf32>
    %66 = "stablehlo.broadcast_in_dim"(%arg18) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4x8xf32>
    %67 = "stablehlo.multiply"(%65, %66) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %68 = "stablehlo.broadcast_in_dim"(%arg18) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<8xf32>
    %69 = "stablehlo.multiply"(%63, %68) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %70 = "stablehlo.broadcast_in_dim"(%arg18) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<8x3xf32>
    %71 = "stablehlo.multiply"(%57, %70) : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
    %72 = "stablehlo.broadcast_in_dim"(%arg18) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<3xf32>
    %73 = "stablehlo.multiply"(%53, %72) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %74 = "stablehlo.abs"(%67) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %76 = "stablehlo.reduce"(%74, %19) <{dimensions = array<i64: 0, 1>}> ({
    ^bb0(%in14: tensor<f32>, %in15: tensor<f32>):
      %75 = "stablehlo.add"(%in14, %in15) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%75) : (tensor<f32>) -> ()
    }) : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
    %77 = "stablehlo.multiply"(%76, %19) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %78 = "stablehlo.add"(%19, %77) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %79 = "stablehlo.abs"(%69) : (tensor<8xf32>) -> tensor<8xf32>
    %81 = "stablehlo.reduce"(%79, %19) <{dimensions = array<i64: 0>}> ({
    ^bb0(%in16: tensor<f32>, %in17: tensor<f32>):
      %80 = "stablehlo.add"(%in16, %in17) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%80) : (tensor<f32>) -> ()
    }) : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
    %82 = "stablehlo.multiply"(%81, %19) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %83 = "stablehlo.add"(%78, %82) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %84 = "stablehlo.abs"(%71) : (tensor<8x3xf32>) -> tensor<8x3xf32>
    %86 = "stablehlo.reduce"(%84, %19) <{dimensions = array<i64: 0, 1>}> ({
    ^bb0(%in18: tensor<f32>, %in19: tensor<f32>):
      %85 = "stablehlo.add"(%in18, %in19) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%85) : (tensor<f32>) -> ()
    }) : (tensor<8x3xf32>, tensor<f32>) -> tensor<f32>
    %87 = "stablehlo.multiply"(%86, %19) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %88 = "stablehlo.add"(%83, %87) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %89 = "stablehlo.abs"(%73) : (tensor<3xf32>) -> tensor<3xf32>
    %91 = "stablehlo.reduce"(%89, %19) <{dimensions = array<i64: 0>}> ({
    ^bb0(%in20: tensor<f32>, %in21: tensor<f32>):
      %90 = "stablehlo.add"(%in20, %in21) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%90) : (tensor<f32>) -> ()
    }) : (tensor<3xf32>, tensor<f32>) -> tensor<f32>
    %92 = "stablehlo.multiply"(%91, %19) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %93 = "stablehlo.add"(%88, %92) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %94 = "stablehlo.compare"(%93, %19) <{comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %95 = "stablehlo.multiply"(%67, %67) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %97 = "stablehlo.reduce"(%95, %19) <{dimensions = array<i64: 0, 1>}> ({
    ^bb0(%in22: tensor<f32>, %in23: tensor<f32>):
      %96 = "stablehlo.add"(%in22, %in23) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%96) : (tensor<f32>) -> ()
    }) : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
    %98 = "stablehlo.multiply"(%69, %69) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %100 = "stablehlo.reduce"(%98, %19) <{dimensions = array<i64: 0>}> ({
    ^bb0(%in24: tensor<f32>, %in25: tensor<f32>):
      %99 = "stablehlo.add"(%in24, %in25) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%99) : (tensor<f32>) -> ()
    }) : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
    %101 = "stablehlo.multiply"(%71, %71) : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
    %103 = "stablehlo.reduce"(%101, %19) <{dimensions = array<i64: 0, 1>}> ({
    ^bb0(%in26: tensor<f32>, %in27: tensor<f32>):
      %102 = "stablehlo.add"(%in26, %in27) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%102) : (tensor<f32>) -> ()
    }) : (tensor<8x3xf32>, tensor<f32>) -> tensor<f32>
    %104 = "stablehlo.multiply"(%73, %73) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %106 = "stablehlo.reduce"(%104, %19) <{dimensions = array<i64: 0>}> ({
    ^bb0(%in28: tensor<f32>, %in29: tensor<f32>):
      %105 = "stablehlo.add"(%in28, %in29) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%105) : (tensor<f32>) -> ()
    }) : (tensor<3xf32>, tensor<f32>) -> tensor<f32>
    %107 = "stablehlo.add"(%97, %100) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %108 = "stablehlo.add"(%107, %103) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %109 = "stablehlo.add"(%108, %106) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %110 = "stablehlo.sqrt"(%109) : (tensor<f32>) -> tensor<f32>
    %111 = "stablehlo.constant"() <{value = dense<1.450000e+01> : tensor<f32>}> : () -> tensor<f32>
    %112 = "stablehlo.compare"(%arg12, %111) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %113 = "stablehlo.constant"() <{value = dense<9.500000e-01> : tensor<f32>}> : () -> tensor<f32>
    %114 = "stablehlo.multiply"(%arg10, %113) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %115 = "stablehlo.constant"() <{value = dense<5.000000e-02> : tensor<f32>}> : () -> tensor<f32>
    %116 = "stablehlo.multiply"(%110, %115) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %117 = "stablehlo.add"(%114, %116) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %118 = "stablehlo.multiply"(%arg11, %113) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %119 = "stablehlo.subtract"(%110, %117) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %120 = "stablehlo.abs"(%119) : (tensor<f32>) -> tensor<f32>
    %121 = "stablehlo.multiply"(%120, %115) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %122 = "stablehlo.add"(%118, %121) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %123 = "stablehlo.constant"() <{value = dense<4.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %124 = "stablehlo.constant"() <{value = dense<2.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %125 = "stablehlo.select"(%112, %123, %124) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %126 = "stablehlo.multiply"(%125, %122) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %127 = "stablehlo.add"(%117, %126) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %128 = "stablehlo.constant"() <{value = dense<5.000000e-01> : tensor<f32>}> : () -> tensor<f32>
    %129 = "stablehlo.compare"(%arg12, %128) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %130 = "stablehlo.compare"(%110, %127) <{comparison_direction = #stablehlo<comparison_direction GT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %131 = "stablehlo.not"(%129) : (tensor<i1>) -> tensor<i1>
    %132 = "stablehlo.and"(%130, %131) : (tensor<i1>, tensor<i1>) -> tensor<i1>
    %133 = "stablehlo.select"(%132, %127, %110) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %134 = "stablehlo.multiply"(%133, %115) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %135 = "stablehlo.add"(%114, %134) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %136 = "stablehlo.subtract"(%133, %135) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %137 = "stablehlo.abs"(%136) : (tensor<f32>) -> tensor<f32>
    %138 = "stablehlo.multiply"(%137, %115) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %139 = "stablehlo.add"(%118, %138) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %140 = "stablehlo.constant"() <{value = dense<1.000000e-06> : tensor<f32>}> : () -> tensor<f32>
    %141 = "stablehlo.add"(%110, %140) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %142 = "stablehlo.divide"(%127, %141) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %143 = "stablehlo.select"(%132, %142, %33) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %144 = "stablehlo.select"(%129, %110, %135) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %145 = "stablehlo.select"(%129, %19, %139) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %146 = "stablehlo.add"(%arg12, %33) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %147 = "stablehlo.broadcast_in_dim"(%143) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4x8xf32>
    %148 = "stablehlo.multiply"(%67, %147) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %149 = "stablehlo.broadcast_in_dim"(%143) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<8xf32>
    %150 = "stablehlo.multiply"(%69, %149) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %151 = "stablehlo.broadcast_in_dim"(%143) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<8x3xf32>
    %152 = "stablehlo.multiply"(%71, %151) : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
    %153 = "stablehlo.broadcast_in_dim"(%143) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<3xf32>
    %154 = "stablehlo.multiply"(%73, %153) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %155 = "stablehlo.constant"() <{value = dense<9.000000e-01> : tensor<f32>}> : () -> tensor<f32>
    %156 = "stablehlo.broadcast_in_dim"(%155) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4x8xf32>
    %157 = "stablehlo.multiply"(%arg13, %156) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %158 = "stablehlo.constant"() <{value = dense<1.000000e-01> : tensor<f32>}> : () -> tensor<f32>
    %159 = "stablehlo.broadcast_in_dim"(%158) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4x8xf32>
    %160 = "stablehlo.multiply"(%148, %159) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %161 = "stablehlo.add"(%157, %160) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %162 = "stablehlo.constant"() <{value = dense<1.000000e+01> : tensor<f32>}> : () -> tensor<f32>
    %163 = "stablehlo.broadcast_in_dim"(%162) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4x8xf32>
    %164 = "stablehlo.multiply"(%161, %163) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %165 = "stablehlo.abs"(%164) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %166 = "stablehlo.broadcast_in_dim"(%33) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4x8xf32>
    %167 = "stablehlo.add"(%165, %166) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %168 = "stablehlo.divide"(%164, %167) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %169 = "stablehlo.constant"() <{value = dense<1.000000e-02> : tensor<f32>}> : () -> tensor<f32>
    %170 = "stablehlo.broadcast_in_dim"(%169) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4x8xf32>
    %171 = "stablehlo.multiply"(%arg3, %170) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %172 = "stablehlo.add"(%168, %171) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %173 = "stablehlo.broadcast_in_dim"(%arg17) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4x8xf32>
    %174 = "stablehlo.multiply"(%173, %172) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %175 = "stablehlo.subtract"(%arg3, %174) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %176 = "stablehlo.constant"() <{value = dense<9.900000e-01> : tensor<f32>}> : () -> tensor<f32>
    %177 = "stablehlo.broadcast_in_dim"(%176) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4x8xf32>
    %178 = "stablehlo.multiply"(%arg13, %177) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %179 = "stablehlo.multiply"(%148, %170) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %180 = "stablehlo.add"(%178, %179) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %181 = "stablehlo.broadcast_in_dim"(%155) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<8xf32>
    %182 = "stablehlo.multiply"(%arg14, %181) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %183 = "stablehlo.broadcast_in_dim"(%158) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<8xf32>
    %184 = "stablehlo.multiply"(%150, %183) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %185 = "stablehlo.add"(%182, %184) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %186 = "stablehlo.broadcast_in_dim"(%162) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<8xf32>
    %187 = "stablehlo.multiply"(%185, %186) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %188 = "stablehlo.abs"(%187) : (tensor<8xf32>) -> tensor<8xf32>
    %189 = "stablehlo.broadcast_in_dim"(%33) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<8xf32>
    %190 = "stablehlo.add"(%188, %189) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %191 = "stablehlo.divide"(%187, %190) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %192 = "stablehlo.broadcast_in_dim"(%arg17) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<8xf32>
    %193 = "stablehlo.multiply"(%192, %191) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %194 = "stablehlo.subtract"(%arg4, %193) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %195 = "stablehlo.broadcast_in_dim"(%176) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<8xf32>
    %196 = "stablehlo.multiply"(%arg14, %195) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %197 = "stablehlo.broadcast_in_dim"(%169) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<8xf32>
    %198 = "stablehlo.multiply"(%150, %197) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %199 = "stablehlo.add"(%196, %198) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %200 = "stablehlo.broadcast_in_dim"(%155) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<8x3xf32>
    %201 = "stablehlo.multiply"(%arg15, %200) : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
    %202 = "stablehlo.broadcast_in_dim"(%158) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<8x3xf32>
    %203 = "stablehlo.multiply"(%152, %202) : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
    %204 = "stablehlo.add"(%201, %203) : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
    %205 = "stablehlo.broadcast_in_dim"(%162) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<8x3xf32>
    %206 = "stablehlo.multiply"(%204, %205) : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
    %207 = "stablehlo.abs"(%206) : (tensor<8x3xf32>) -> tensor<8x3xf32>
    %208 = "stablehlo.broadcast_in_dim"(%33) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<8x3xf32>
    %209 = "stablehlo.add"(%207, %208) : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
    %210 = "stablehlo.divide"(%206, %209) : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
    %211 = "stablehlo.broadcast_in_dim"(%169) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<8x3xf32>
    %212 = "stablehlo.multiply"(%arg5, %211) : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
    %213 = "stablehlo.add"(%210, %212) : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
    %214 = "stablehlo.broadcast_in_dim"(%arg17) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<8x3xf32>
    %215 = "stablehlo.multiply"(%214, %213) : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
    %216 = "stablehlo.subtract"(%arg5, %215) : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
    %217 = "stablehlo.broadcast_in_dim"(%176) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<8x3xf32>
    %218 = "stablehlo.multiply"(%arg15, %217) : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
    %219 = "stablehlo.multiply"(%152, %211) : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
    %220 = "stablehlo.add"(%218, %219) : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
    %221 = "stablehlo.broadcast_in_dim"(%155) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<3xf32>
    %222 = "stablehlo.multiply"(%arg16, %221) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %223 = "stablehlo.broadcast_in_dim"(%158) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<3xf32>
    %224 = "stablehlo.multiply"(%154, %223) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %225 = "stablehlo.add"(%222, %224) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %226 = "stablehlo.broadcast_in_dim"(%162) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<3xf32>
    %227 = "stablehlo.multiply"(%225, %226) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %228 = "stablehlo.abs"(%227) : (tensor<3xf32>) -> tensor<3xf32>
    %229 = "stablehlo.broadcast_in_dim"(%33) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<3xf32>
    %230 = "stablehlo.add"(%228, %229) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %231 = "stablehlo.divide"(%227, %230) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %232 = "stablehlo.broadcast_in_dim"(%arg17) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<3xf32>
    %233 = "stablehlo.multiply"(%232, %231) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %234 = "stablehlo.subtract"(%arg6, %233) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %235 = "stablehlo.broadcast_in_dim"(%176) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<3xf32>
    %236 = "stablehlo.multiply"(%arg16, %235) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %237 = "stablehlo.broadcast_in_dim"(%169) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<3xf32>
    %238 = "stablehlo.multiply"(%154, %237) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %239 = "stablehlo.add"(%236, %238) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %240 = "stablehlo.select"(%94, %144, %arg10) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %241 = "stablehlo.select"(%94, %145, %arg11) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %242 = "stablehlo.select"(%94, %146, %arg12) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %243 = "stablehlo.broadcast_in_dim"(%94) <{broadcast_dimensions = array<i64>}> : (tensor<i1>) -> tensor<4x8xi1>
    %244 = "stablehlo.select"(%243, %175, %arg3) : (tensor<4x8xi1>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %245 = "stablehlo.select"(%243, %180, %arg13) : (tensor<4x8xi1>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %246 = "stablehlo.broadcast_in_dim"(%94) <{broadcast_dimensions = array<i64>}> : (tensor<i1>) -> tensor<8xi1>
    %247 = "stablehlo.select"(%246, %194, %arg4) : (tensor<8xi1>, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %248 = "stablehlo.select"(%246, %199, %arg14) : (tensor<8xi1>, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %249 = "stablehlo.broadcast_in_dim"(%94) <{broadcast_dimensions = array<i64>}> : (tensor<i1>) -> tensor<8x3xi1>
    %250 = "stablehlo.select"(%249, %216, %arg5) : (tensor<8x3xi1>, tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
    %251 = "stablehlo.select"(%249, %220, %arg15) : (tensor<8x3xi1>, tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
    %252 = "stablehlo.broadcast_in_dim"(%94) <{broadcast_dimensions = array<i64>}> : (tensor<i1>) -> tensor<3xi1>
    %253 = "stablehlo.select"(%252, %234, %arg6) : (tensor<3xi1>, tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %254 = "stablehlo.select"(%252, %239, %arg16) : (tensor<3xi1>, tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %255 = "stablehlo.add"(%arg8, %33) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %256 = "stablehlo.constant"() <{value = dense<1.000000e+03> : tensor<f32>}> : () -> tensor<f32>
    %257 = "stablehlo.compare"(%255, %256) <{comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %258 = "stablehlo.multiply"(%arg7, %124) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %259 = "stablehlo.constant"() <{value = dense<1.67772160e+07> : tensor<f32>}> : () -> tensor<f32>
    %260 = "stablehlo.minimum"(%258, %259) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %261 = "stablehlo.select"(%257, %260, %arg7) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %262 = "stablehlo.constant"() <{value = dense<5.000000e+01> : tensor<f32>}> : () -> tensor<f32>
    %263 = "stablehlo.compare"(%arg9, %262) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %264 = "stablehlo.and"(%94, %263) : (tensor<i1>, tensor<i1>) -> tensor<i1>
    %265 = "stablehlo.multiply"(%arg7, %128) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %266 = "stablehlo.maximum"(%265, %33) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %267 = "stablehlo.select"(%94, %261, %266) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %268 = "stablehlo.not"(%257) : (tensor<i1>) -> tensor<i1>
    %269 = "stablehlo.and"(%94, %268) : (tensor<i1>, tensor<i1>) -> tensor<i1>
    %270 = "stablehlo.select"(%269, %255, %19) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %271 = "stablehlo.add"(%arg9, %33) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %272 = "stablehlo.select"(%264, %19, %271) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %273 = "stablehlo.not"(%94) : (tensor<i1>) -> tensor<i1>
    %274 = "stablehlo.convert"(%273) : (tensor<i1>) -> tensor<ui8>
    return %244, %247, %250, %253, %267, %270, %272, %240, %241, %242, %245, %248, %251, %254, %36, %274 : tensor<4x8xf32>, tensor<8xf32>, tensor<8x3xf32>, tensor<3xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<4x8xf32>, tensor<8xf32>, tensor<8x3xf32>, tensor<3xf32>, tensor<f32>, tensor<ui8>
  }
}
