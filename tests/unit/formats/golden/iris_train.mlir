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
    %17 = "stablehlo.compare"(%11, %16) <{comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<5x3xf32>, tensor<5x3xf32>) -> tensor<5x3xi1>
    %18 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<5x3xf32>}> : () -> tensor<5x3xf32>
    %19 = "stablehlo.multiply"(%11, %18) : (tensor<5x3xf32>, tensor<5x3xf32>) -> tensor<5x3xf32>
    %20 = "stablehlo.subtract"(%11, %16) : (tensor<5x3xf32>, tensor<5x3xf32>) -> tensor<5x3xf32>
    %21 = "stablehlo.select"(%17, %19, %20) : (tensor<5x3xi1>, tensor<5x3xf32>, tensor<5x3xf32>) -> tensor<5x3xf32>
    %22 = "stablehlo.exponential"(%21) : (tensor<5x3xf32>) -> tensor<5x3xf32>
    %23 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %25 = "stablehlo.reduce"(%22, %23) <{dimensions = array<i64: 1>}> ({
    ^bb0(%in2: tensor<f32>, %in3: tensor<f32>):
      %24 = "stablehlo.add"(%in2, %in3) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%24) : (tensor<f32>) -> ()
    }) : (tensor<5x3xf32>, tensor<f32>) -> tensor<5xf32>
    %26 = "stablehlo.reshape"(%25) : (tensor<5xf32>) -> tensor<5x1xf32>
    %27 = "stablehlo.log"(%26) : (tensor<5x1xf32>) -> tensor<5x1xf32>
    %28 = "stablehlo.broadcast_in_dim"(%27) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<5x1xf32>) -> tensor<5x3xf32>
    %29 = "stablehlo.subtract"(%21, %28) : (tensor<5x3xf32>, tensor<5x3xf32>) -> tensor<5x3xf32>
    %30 = "stablehlo.multiply"(%arg1, %29) : (tensor<5x3xf32>, tensor<5x3xf32>) -> tensor<5x3xf32>
    %31 = "stablehlo.negate"(%30) : (tensor<5x3xf32>) -> tensor<5x3xf32>
    %33 = "stablehlo.reduce"(%31, %23) <{dimensions = array<i64: 1>}> ({
    ^bb0(%in4: tensor<f32>, %in5: tensor<f32>):
      %32 = "stablehlo.add"(%in4, %in5) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%32) : (tensor<f32>) -> ()
    }) : (tensor<5x3xf32>, tensor<f32>) -> tensor<5xf32>
    %34 = "stablehlo.multiply"(%33, %3) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    %36 = "stablehlo.reduce"(%34, %23) <{dimensions = array<i64: 0>}> ({
    ^bb0(%in6: tensor<f32>, %in7: tensor<f32>):
      %35 = "stablehlo.add"(%in6, %in7) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%35) : (tensor<f32>) -> ()
    }) : (tensor<5xf32>, tensor<f32>) -> tensor<f32>
    %37 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %38 = "stablehlo.multiply"(%arg2, %37) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %39 = "stablehlo.maximum"(%38, %37) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %40 = "stablehlo.divide"(%36, %39) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %41 = "stablehlo.divide"(%arg7, %39) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %42 = "stablehlo.reshape"(%41) : (tensor<f32>) -> tensor<1xf32>
    %43 = "stablehlo.broadcast_in_dim"(%42) <{broadcast_dimensions = array<i64: 0>}> : (tensor<1xf32>) -> tensor<5xf32>
    %44 = "stablehlo.multiply"(%43, %3) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    %45 = "stablehlo.reshape"(%44) : (tensor<5xf32>) -> tensor<5x1xf32>
    %46 = "stablehlo.broadcast_in_dim"(%45) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<5x1xf32>) -> tensor<5x3xf32>
    %47 = "stablehlo.negate"(%46) : (tensor<5x3xf32>) -> tensor<5x3xf32>
    %48 = "stablehlo.multiply"(%47, %arg1) : (tensor<5x3xf32>, tensor<5x3xf32>) -> tensor<5x3xf32>
    %49 = "stablehlo.exponential"(%29) : (tensor<5x3xf32>) -> tensor<5x3xf32>
    %51 = "stablehlo.reduce"(%48, %23) <{dimensions = array<i64: 1>}> ({
    ^bb0(%in8: tensor<f32>, %in9: tensor<f32>):
      %50 = "stablehlo.add"(%in8, %in9) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%50) : (tensor<f32>) -> ()
    }) : (tensor<5x3xf32>, tensor<f32>) -> tensor<5xf32>
    %52 = "stablehlo.reshape"(%51) : (tensor<5xf32>) -> tensor<5x1xf32>
    %53 = "stablehlo.broadcast_in_dim"(%52) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<5x1xf32>) -> tensor<5x3xf32>
    %54 = "stablehlo.multiply"(%49, %53) : (tensor<5x3xf32>, tensor<5x3xf32>) -> tensor<5x3xf32>
    %55 = "stablehlo.subtract"(%48, %54) : (tensor<5x3xf32>, tensor<5x3xf32>) -> tensor<5x3xf32>
    %57 = "stablehlo.reduce"(%55, %23) <{dimensions = array<i64: 0>}> ({
    ^bb0(%in10: tensor<f32>, %in11: tensor<f32>):
      %56 = "stablehlo.add"(%in10, %in11) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%56) : (tensor<f32>) -> ()
    }) : (tensor<5x3xf32>, tensor<f32>) -> tensor<3xf32>
    %58 = "stablehlo.transpose"(%arg5) <{permutation = array<i64: 1, 0>}> : (tensor<8x3xf32>) -> tensor<3x8xf32>
    %59 = "stablehlo.dot_general"(%55, %58) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<5x3xf32>, tensor<3x8xf32>) -> tensor<5x8xf32>
    %60 = "stablehlo.transpose"(%8) <{permutation = array<i64: 1, 0>}> : (tensor<5x8xf32>) -> tensor<8x5xf32>
    %61 = "stablehlo.dot_general"(%60, %55) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<8x5xf32>, tensor<5x3xf32>) -> tensor<8x3xf32>
    %62 = "stablehlo.ceil"(%8) : (tensor<5x8xf32>) -> tensor<5x8xf32>
    %63 = "stablehlo.broadcast_in_dim"(%37) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<5x8xf32>
    %64 = "stablehlo.minimum"(%62, %63) : (tensor<5x8xf32>, tensor<5x8xf32>) -> tensor<5x8xf32>
    %65 = "stablehlo.multiply"(%59, %64) : (tensor<5x8xf32>, tensor<5x8xf32>) -> tensor<5x8xf32>
    %67 = "stablehlo.reduce"(%65, %23) <{dimensions = array<i64: 0>}> ({
    ^bb0(%in12: tensor<f32>, %in13: tensor<f32>):
      %66 = "stablehlo.add"(%in12, %in13) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%66) : (tensor<f32>) -> ()
    }) : (tensor<5x8xf32>, tensor<f32>) -> tensor<8xf32>
    %68 = "stablehlo.transpose"(%arg0) <{permutation = array<i64: 1, 0>}> : (tensor<5x4xf32>) -> tensor<4x5xf32>
    %69 = "stablehlo.dot_general"(%68, %65) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<4x5xf32>, tensor<5x8xf32>) -> tensor<4x8xf32>
    %70 = "stablehlo.broadcast_in_dim"(%arg18) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4x8xf32>
    %71 = "stablehlo.multiply"(%69, %70) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %72 = "stablehlo.broadcast_in_dim"(%arg18) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<8xf32>
    %73 = "stablehlo.multiply"(%67, %72) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %74 = "stablehlo.broadcast_in_dim"(%arg18) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<8x3xf32>
    %75 = "stablehlo.multiply"(%61, %74) : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
    %76 = "stablehlo.broadcast_in_dim"(%arg18) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<3xf32>
    %77 = "stablehlo.multiply"(%57, %76) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %78 = "stablehlo.abs"(%71) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %80 = "stablehlo.reduce"(%78, %23) <{dimensions = array<i64: 0, 1>}> ({
    ^bb0(%in14: tensor<f32>, %in15: tensor<f32>):
      %79 = "stablehlo.add"(%in14, %in15) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%79) : (tensor<f32>) -> ()
    }) : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
    %81 = "stablehlo.multiply"(%80, %23) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %82 = "stablehlo.add"(%23, %81) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %83 = "stablehlo.abs"(%73) : (tensor<8xf32>) -> tensor<8xf32>
    %85 = "stablehlo.reduce"(%83, %23) <{dimensions = array<i64: 0>}> ({
    ^bb0(%in16: tensor<f32>, %in17: tensor<f32>):
      %84 = "stablehlo.add"(%in16, %in17) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%84) : (tensor<f32>) -> ()
    }) : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
    %86 = "stablehlo.multiply"(%85, %23) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %87 = "stablehlo.add"(%82, %86) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %88 = "stablehlo.abs"(%75) : (tensor<8x3xf32>) -> tensor<8x3xf32>
    %90 = "stablehlo.reduce"(%88, %23) <{dimensions = array<i64: 0, 1>}> ({
    ^bb0(%in18: tensor<f32>, %in19: tensor<f32>):
      %89 = "stablehlo.add"(%in18, %in19) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%89) : (tensor<f32>) -> ()
    }) : (tensor<8x3xf32>, tensor<f32>) -> tensor<f32>
    %91 = "stablehlo.multiply"(%90, %23) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %92 = "stablehlo.add"(%87, %91) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %93 = "stablehlo.abs"(%77) : (tensor<3xf32>) -> tensor<3xf32>
    %95 = "stablehlo.reduce"(%93, %23) <{dimensions = array<i64: 0>}> ({
    ^bb0(%in20: tensor<f32>, %in21: tensor<f32>):
      %94 = "stablehlo.add"(%in20, %in21) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%94) : (tensor<f32>) -> ()
    }) : (tensor<3xf32>, tensor<f32>) -> tensor<f32>
    %96 = "stablehlo.multiply"(%95, %23) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %97 = "stablehlo.add"(%92, %96) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %98 = "stablehlo.compare"(%97, %23) <{comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %99 = "stablehlo.multiply"(%71, %71) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %101 = "stablehlo.reduce"(%99, %23) <{dimensions = array<i64: 0, 1>}> ({
    ^bb0(%in22: tensor<f32>, %in23: tensor<f32>):
      %100 = "stablehlo.add"(%in22, %in23) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%100) : (tensor<f32>) -> ()
    }) : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
    %102 = "stablehlo.multiply"(%73, %73) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %104 = "stablehlo.reduce"(%102, %23) <{dimensions = array<i64: 0>}> ({
    ^bb0(%in24: tensor<f32>, %in25: tensor<f32>):
      %103 = "stablehlo.add"(%in24, %in25) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%103) : (tensor<f32>) -> ()
    }) : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
    %105 = "stablehlo.multiply"(%75, %75) : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
    %107 = "stablehlo.reduce"(%105, %23) <{dimensions = array<i64: 0, 1>}> ({
    ^bb0(%in26: tensor<f32>, %in27: tensor<f32>):
      %106 = "stablehlo.add"(%in26, %in27) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%106) : (tensor<f32>) -> ()
    }) : (tensor<8x3xf32>, tensor<f32>) -> tensor<f32>
    %108 = "stablehlo.multiply"(%77, %77) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %110 = "stablehlo.reduce"(%108, %23) <{dimensions = array<i64: 0>}> ({
    ^bb0(%in28: tensor<f32>, %in29: tensor<f32>):
      %109 = "stablehlo.add"(%in28, %in29) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%109) : (tensor<f32>) -> ()
    }) : (tensor<3xf32>, tensor<f32>) -> tensor<f32>
    %111 = "stablehlo.add"(%101, %104) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %112 = "stablehlo.add"(%111, %107) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %113 = "stablehlo.add"(%112, %110) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %114 = "stablehlo.sqrt"(%113) : (tensor<f32>) -> tensor<f32>
    %115 = "stablehlo.constant"() <{value = dense<1.450000e+01> : tensor<f32>}> : () -> tensor<f32>
    %116 = "stablehlo.compare"(%arg12, %115) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %117 = "stablehlo.constant"() <{value = dense<9.500000e-01> : tensor<f32>}> : () -> tensor<f32>
    %118 = "stablehlo.multiply"(%arg10, %117) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %119 = "stablehlo.constant"() <{value = dense<5.000000e-02> : tensor<f32>}> : () -> tensor<f32>
    %120 = "stablehlo.multiply"(%114, %119) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %121 = "stablehlo.add"(%118, %120) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %122 = "stablehlo.multiply"(%arg11, %117) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %123 = "stablehlo.subtract"(%114, %121) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %124 = "stablehlo.abs"(%123) : (tensor<f32>) -> tensor<f32>
    %125 = "stablehlo.multiply"(%124, %119) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %126 = "stablehlo.add"(%122, %125) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %127 = "stablehlo.constant"() <{value = dense<4.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %128 = "stablehlo.constant"() <{value = dense<2.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %129 = "stablehlo.select"(%116, %127, %128) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %130 = "stablehlo.multiply"(%129, %126) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %131 = "stablehlo.add"(%121, %130) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %132 = "stablehlo.constant"() <{value = dense<5.000000e-01> : tensor<f32>}> : () -> tensor<f32>
    %133 = "stablehlo.compare"(%arg12, %132) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %134 = "stablehlo.compare"(%114, %131) <{comparison_direction = #stablehlo<comparison_direction GT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %135 = "stablehlo.not"(%133) : (tensor<i1>) -> tensor<i1>
    %136 = "stablehlo.and"(%134, %135) : (tensor<i1>, tensor<i1>) -> tensor<i1>
    %137 = "stablehlo.select"(%136, %131, %114) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %138 = "stablehlo.multiply"(%137, %119) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %139 = "stablehlo.add"(%118, %138) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %140 = "stablehlo.subtract"(%137, %139) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %141 = "stablehlo.abs"(%140) : (tensor<f32>) -> tensor<f32>
    %142 = "stablehlo.multiply"(%141, %119) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %143 = "stablehlo.add"(%122, %142) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %144 = "stablehlo.constant"() <{value = dense<1.000000e-06> : tensor<f32>}> : () -> tensor<f32>
    %145 = "stablehlo.add"(%114, %144) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %146 = "stablehlo.divide"(%131, %145) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %147 = "stablehlo.select"(%136, %146, %37) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %148 = "stablehlo.select"(%133, %114, %139) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %149 = "stablehlo.select"(%133, %23, %143) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %150 = "stablehlo.add"(%arg12, %37) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %151 = "stablehlo.broadcast_in_dim"(%147) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4x8xf32>
    %152 = "stablehlo.multiply"(%71, %151) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %153 = "stablehlo.broadcast_in_dim"(%147) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<8xf32>
    %154 = "stablehlo.multiply"(%73, %153) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %155 = "stablehlo.broadcast_in_dim"(%147) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<8x3xf32>
    %156 = "stablehlo.multiply"(%75, %155) : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
    %157 = "stablehlo.broadcast_in_dim"(%147) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<3xf32>
    %158 = "stablehlo.multiply"(%77, %157) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %159 = "stablehlo.constant"() <{value = dense<9.000000e-01> : tensor<f32>}> : () -> tensor<f32>
    %160 = "stablehlo.broadcast_in_dim"(%159) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4x8xf32>
    %161 = "stablehlo.multiply"(%arg13, %160) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %162 = "stablehlo.constant"() <{value = dense<1.000000e-01> : tensor<f32>}> : () -> tensor<f32>
    %163 = "stablehlo.broadcast_in_dim"(%162) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4x8xf32>
    %164 = "stablehlo.multiply"(%152, %163) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %165 = "stablehlo.add"(%161, %164) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %166 = "stablehlo.constant"() <{value = dense<1.000000e+01> : tensor<f32>}> : () -> tensor<f32>
    %167 = "stablehlo.broadcast_in_dim"(%166) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4x8xf32>
    %168 = "stablehlo.multiply"(%165, %167) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %169 = "stablehlo.abs"(%168) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %170 = "stablehlo.broadcast_in_dim"(%37) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4x8xf32>
    %171 = "stablehlo.add"(%169, %170) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %172 = "stablehlo.divide"(%168, %171) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %173 = "stablehlo.constant"() <{value = dense<1.000000e-02> : tensor<f32>}> : () -> tensor<f32>
    %174 = "stablehlo.broadcast_in_dim"(%173) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4x8xf32>
    %175 = "stablehlo.multiply"(%arg3, %174) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %176 = "stablehlo.add"(%172, %175) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %177 = "stablehlo.broadcast_in_dim"(%arg17) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4x8xf32>
    %178 = "stablehlo.multiply"(%177, %176) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %179 = "stablehlo.subtract"(%arg3, %178) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %180 = "stablehlo.constant"() <{value = dense<9.900000e-01> : tensor<f32>}> : () -> tensor<f32>
    %181 = "stablehlo.broadcast_in_dim"(%180) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4x8xf32>
    %182 = "stablehlo.multiply"(%arg13, %181) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %183 = "stablehlo.multiply"(%152, %174) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %184 = "stablehlo.add"(%182, %183) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %185 = "stablehlo.broadcast_in_dim"(%159) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<8xf32>
    %186 = "stablehlo.multiply"(%arg14, %185) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %187 = "stablehlo.broadcast_in_dim"(%162) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<8xf32>
    %188 = "stablehlo.multiply"(%154, %187) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %189 = "stablehlo.add"(%186, %188) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %190 = "stablehlo.broadcast_in_dim"(%166) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<8xf32>
    %191 = "stablehlo.multiply"(%189, %190) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %192 = "stablehlo.abs"(%191) : (tensor<8xf32>) -> tensor<8xf32>
    %193 = "stablehlo.broadcast_in_dim"(%37) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<8xf32>
    %194 = "stablehlo.add"(%192, %193) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %195 = "stablehlo.divide"(%191, %194) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %196 = "stablehlo.broadcast_in_dim"(%arg17) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<8xf32>
    %197 = "stablehlo.multiply"(%196, %195) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %198 = "stablehlo.subtract"(%arg4, %197) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %199 = "stablehlo.broadcast_in_dim"(%180) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<8xf32>
    %200 = "stablehlo.multiply"(%arg14, %199) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %201 = "stablehlo.broadcast_in_dim"(%173) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<8xf32>
    %202 = "stablehlo.multiply"(%154, %201) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %203 = "stablehlo.add"(%200, %202) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %204 = "stablehlo.broadcast_in_dim"(%159) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<8x3xf32>
    %205 = "stablehlo.multiply"(%arg15, %204) : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
    %206 = "stablehlo.broadcast_in_dim"(%162) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<8x3xf32>
    %207 = "stablehlo.multiply"(%156, %206) : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
    %208 = "stablehlo.add"(%205, %207) : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
    %209 = "stablehlo.broadcast_in_dim"(%166) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<8x3xf32>
    %210 = "stablehlo.multiply"(%208, %209) : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
    %211 = "stablehlo.abs"(%210) : (tensor<8x3xf32>) -> tensor<8x3xf32>
    %212 = "stablehlo.broadcast_in_dim"(%37) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<8x3xf32>
    %213 = "stablehlo.add"(%211, %212) : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
    %214 = "stablehlo.divide"(%210, %213) : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
    %215 = "stablehlo.broadcast_in_dim"(%173) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<8x3xf32>
    %216 = "stablehlo.multiply"(%arg5, %215) : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
    %217 = "stablehlo.add"(%214, %216) : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
    %218 = "stablehlo.broadcast_in_dim"(%arg17) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<8x3xf32>
    %219 = "stablehlo.multiply"(%218, %217) : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
    %220 = "stablehlo.subtract"(%arg5, %219) : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
    %221 = "stablehlo.broadcast_in_dim"(%180) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<8x3xf32>
    %222 = "stablehlo.multiply"(%arg15, %221) : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
    %223 = "stablehlo.multiply"(%156, %215) : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
    %224 = "stablehlo.add"(%222, %223) : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
    %225 = "stablehlo.broadcast_in_dim"(%159) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<3xf32>
    %226 = "stablehlo.multiply"(%arg16, %225) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %227 = "stablehlo.broadcast_in_dim"(%162) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<3xf32>
    %228 = "stablehlo.multiply"(%158, %227) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %229 = "stablehlo.add"(%226, %228) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %230 = "stablehlo.broadcast_in_dim"(%166) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<3xf32>
    %231 = "stablehlo.multiply"(%229, %230) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %232 = "stablehlo.abs"(%231) : (tensor<3xf32>) -> tensor<3xf32>
    %233 = "stablehlo.broadcast_in_dim"(%37) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<3xf32>
    %234 = "stablehlo.add"(%232, %233) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %235 = "stablehlo.divide"(%231, %234) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %236 = "stablehlo.broadcast_in_dim"(%arg17) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<3xf32>
    %237 = "stablehlo.multiply"(%236, %235) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %238 = "stablehlo.subtract"(%arg6, %237) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %239 = "stablehlo.broadcast_in_dim"(%180) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<3xf32>
    %240 = "stablehlo.multiply"(%arg16, %239) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %241 = "stablehlo.broadcast_in_dim"(%173) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<3xf32>
    %242 = "stablehlo.multiply"(%158, %241) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %243 = "stablehlo.add"(%240, %242) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %244 = "stablehlo.select"(%98, %148, %arg10) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %245 = "stablehlo.select"(%98, %149, %arg11) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %246 = "stablehlo.select"(%98, %150, %arg12) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %247 = "stablehlo.broadcast_in_dim"(%98) <{broadcast_dimensions = array<i64>}> : (tensor<i1>) -> tensor<4x8xi1>
    %248 = "stablehlo.select"(%247, %179, %arg3) : (tensor<4x8xi1>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %249 = "stablehlo.select"(%247, %184, %arg13) : (tensor<4x8xi1>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %250 = "stablehlo.broadcast_in_dim"(%98) <{broadcast_dimensions = array<i64>}> : (tensor<i1>) -> tensor<8xi1>
    %251 = "stablehlo.select"(%250, %198, %arg4) : (tensor<8xi1>, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %252 = "stablehlo.select"(%250, %203, %arg14) : (tensor<8xi1>, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %253 = "stablehlo.broadcast_in_dim"(%98) <{broadcast_dimensions = array<i64>}> : (tensor<i1>) -> tensor<8x3xi1>
    %254 = "stablehlo.select"(%253, %220, %arg5) : (tensor<8x3xi1>, tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
    %255 = "stablehlo.select"(%253, %224, %arg15) : (tensor<8x3xi1>, tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
    %256 = "stablehlo.broadcast_in_dim"(%98) <{broadcast_dimensions = array<i64>}> : (tensor<i1>) -> tensor<3xi1>
    %257 = "stablehlo.select"(%256, %238, %arg6) : (tensor<3xi1>, tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %258 = "stablehlo.select"(%256, %243, %arg16) : (tensor<3xi1>, tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %259 = "stablehlo.add"(%arg8, %37) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %260 = "stablehlo.constant"() <{value = dense<1.000000e+03> : tensor<f32>}> : () -> tensor<f32>
    %261 = "stablehlo.compare"(%259, %260) <{comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %262 = "stablehlo.multiply"(%arg7, %128) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %263 = "stablehlo.constant"() <{value = dense<1.67772160e+07> : tensor<f32>}> : () -> tensor<f32>
    %264 = "stablehlo.minimum"(%262, %263) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %265 = "stablehlo.select"(%261, %264, %arg7) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %266 = "stablehlo.constant"() <{value = dense<5.000000e+01> : tensor<f32>}> : () -> tensor<f32>
    %267 = "stablehlo.compare"(%arg9, %266) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %268 = "stablehlo.and"(%98, %267) : (tensor<i1>, tensor<i1>) -> tensor<i1>
    %269 = "stablehlo.multiply"(%arg7, %132) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %270 = "stablehlo.maximum"(%269, %37) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %271 = "stablehlo.select"(%98, %265, %270) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %272 = "stablehlo.not"(%261) : (tensor<i1>) -> tensor<i1>
    %273 = "stablehlo.and"(%98, %272) : (tensor<i1>, tensor<i1>) -> tensor<i1>
    %274 = "stablehlo.select"(%273, %259, %23) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %275 = "stablehlo.add"(%arg9, %37) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %276 = "stablehlo.select"(%268, %23, %275) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %277 = "stablehlo.not"(%98) : (tensor<i1>) -> tensor<i1>
    %278 = "stablehlo.convert"(%277) : (tensor<i1>) -> tensor<ui8>
    return %248, %251, %254, %257, %271, %274, %276, %244, %245, %246, %249, %252, %255, %258, %40, %278 : tensor<4x8xf32>, tensor<8xf32>, tensor<8x3xf32>, tensor<3xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<4x8xf32>, tensor<8xf32>, tensor<8x3xf32>, tensor<3xf32>, tensor<f32>, tensor<ui8>
  }
}
