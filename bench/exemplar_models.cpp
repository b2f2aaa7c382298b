#include "exemplar_models.h"

#include "frontend/model_builder.h"
#include "support/make_tensor.h"

namespace stitch {
namespace {

using Ints = std::vector<int64_t>;

void softmax(ModelBuilder& model) {
  model.input("scores", DType::kF32, {"4096", "1024"})
      .node("Softmax", {"scores"}, {"probs"}, {{"axis", int64_t{1}}})
      .output("probs");
}

void layer_norm_gelu(ModelBuilder& model) {
  model.input("dense", DType::kF32, {"128", "1024"})
      .input("residual", DType::kF32, {"128", "1024"})
      .input("scale", DType::kF32, {"1024"})
      .input("bias", DType::kF32, {"1024"})
      .initializer("root", f32({1}, {1.4142135623730951}))
      .initializer("one", f32({1}, {1}))
      .initializer("half", f32({1}, {0.5}))
      .node("Add", {"dense", "residual"}, {"total"})
      .node("LayerNormalization", {"total", "scale", "bias"}, {"hidden"}, {{"axis", int64_t{-1}}})
      .node("Div", {"hidden", "root"}, {"scaled"})
      .node("Erf", {"scaled"}, {"erf"})
      .node("Add", {"erf", "one"}, {"shifted"})
      .node("Mul", {"hidden", "shifted"}, {"product"})
      .node("Mul", {"product", "half"}, {"activated"})
      .output("total")
      .output("activated");
}

void masked_softmax(ModelBuilder& model) {
  model.input("scores", DType::kF16, {"8", "12", "128", "128"})
      .input("mask", DType::kF16, {"8", "1", "1", "128"})
      .initializer("scale", make_tensor(DType::kF16, {1}, {0.125}))
      .node("Mul", {"scores", "scale"}, {"scaled"})
      .node("Add", {"scaled", "mask"}, {"masked"})
      .node("Softmax", {"masked"}, {"probs"}, {{"axis", int64_t{-1}}})
      .output("probs", DType::kF16);
}

void group_norm_silu(ModelBuilder& model) {
  model.input("sample", DType::kF32, {"2", "320", "64", "64"})
      .input("scale", DType::kF32, {"320", "1", "1"})
      .input("bias", DType::kF32, {"320", "1", "1"})
      .initializer("grouped", i64({3}, {2, 32, 40960}))
      .initializer("whole", i64({4}, {2, 320, 64, 64}))
      .initializer("epsilon", f32({1}, {1e-5}))
      .node("Reshape", {"sample", "grouped"}, {"x"})
      .node("ReduceMean", {"x"}, {"mean"}, {{"axes", Ints{2}}})
      .node("Sub", {"x", "mean"}, {"centred"})
      .node("Mul", {"centred", "centred"}, {"square"})
      .node("ReduceMean", {"square"}, {"variance"}, {{"axes", Ints{2}}})
      .node("Add", {"variance", "epsilon"}, {"safe"})
      .node("Sqrt", {"safe"}, {"deviation"})
      .node("Div", {"centred", "deviation"}, {"normal"})
      .node("Reshape", {"normal", "whole"}, {"back"})
      .node("Mul", {"back", "scale"}, {"scaled"})
      .node("Add", {"scaled", "bias"}, {"shifted"})
      .node("Sigmoid", {"shifted"}, {"gate"})
      .node("Mul", {"shifted", "gate"}, {"activated"})
      .output("activated");
}

void log_softmax_loss(ModelBuilder& model) {
  model.input("logits", DType::kF32, {"64", "32768"})
      .input("labels", DType::kI64, {"64", "1"})
      .node("LogSoftmax", {"logits"}, {"log_probs"}, {{"axis", int64_t{1}}})
      .node("GatherElements", {"log_probs", "labels"}, {"chosen"}, {{"axis", int64_t{1}}})
      .node("Neg", {"chosen"}, {"loss"})
      .output("log_probs")
      .output("loss");
}

void row_norms(ModelBuilder& model, const std::string& columns) {
  model.input("item", DType::kF32, {"750000", columns})
      .node("ReduceL2", {"item"}, {"norm"}, {{"axes", Ints{1}}, {"keepdims", int64_t{0}}})
      .output("norm");
}

void centred_rows(ModelBuilder& model) {
  model.input("spectrum", DType::kF32, {"64", "30000"})
      .node("ReduceMean", {"spectrum"}, {"mean"}, {{"axes", Ints{1}}})
      .node("Sub", {"spectrum", "mean"}, {"centred"})
      .output("centred");
}

void column_sums(ModelBuilder& model) {
  model.input("gradient", DType::kF32, {"8192", "1024"})
      .initializer("axes", i64({1}, {0}))
      .node("ReduceSum", {"gradient", "axes"}, {"bias"}, {{"keepdims", int64_t{0}}})
      .output("bias");
}

void layer_norm_backward(ModelBuilder& model) {
  model.input("gradient", DType::kF32, {"8192", "1024"})
      .input("normal", DType::kF32, {"8192", "1024"})
      .input("reciprocal", DType::kF32, {"8192", "1"})
      .input("weight", DType::kF32, {"1024"})
      .initializer("axes", i64({1}, {0}))
      .node("Mul", {"gradient", "weight"}, {"scaled"})
      .node("ReduceMean", {"scaled"}, {"mean"}, {{"axes", Ints{1}}})
      .node("Mul", {"scaled", "normal"}, {"product"})
      .node("ReduceMean", {"product"}, {"mean_scaled"}, {{"axes", Ints{1}}})
      .node("Mul", {"normal", "mean_scaled"}, {"along"})
      .node("Sub", {"scaled", "mean"}, {"centred"})
      .node("Sub", {"centred", "along"}, {"across"})
      .node("Mul", {"across", "reciprocal"}, {"dx"})
      .node("Mul", {"gradient", "normal"}, {"weighted"})
      .node("ReduceSum", {"weighted", "axes"}, {"dweight"}, {{"keepdims", int64_t{0}}})
      .node("ReduceSum", {"gradient", "axes"}, {"dbias"}, {{"keepdims", int64_t{0}}})
      .output("dx")
      .output("dweight")
      .output("dbias");
}

void split_heads(ModelBuilder& model) {
  model.input("qkv", DType::kF16, {"4", "128", "2304"})
      .input("bias", DType::kF16, {"2304"})
      .initializer("sizes", i64({3}, {768, 768, 768}))
      .initializer("heads", i64({4}, {4, 128, 12, 64}))
      .node("Add", {"qkv", "bias"}, {"biased"})
      .node("Split", {"biased", "sizes"}, {"q", "k", "v"}, {{"axis", int64_t{2}}});
  for (const std::string part : {"q", "k", "v"})
    model.node("Reshape", {part, "heads"}, {part + "_heads"})
        .node("Transpose", {part + "_heads"}, {part + "_out"}, {{"perm", Ints{0, 2, 1, 3}}})
        .output(part + "_out", DType::kF16);
}

void power_broadcast_add(ModelBuilder& model) {
  model.input("base", DType::kF32, {"4096", "1"})
      .input("x", DType::kF32, {"4096", "256"})
      .initializer("exponent", f32({1}, {2.5}))
      .node("Pow", {"base", "exponent"}, {"power"})
      .node("Add", {"x", "power"}, {"y"})
      .output("y");
}

void rms_norm_rope(ModelBuilder& model) {
  model.input("query", DType::kF16, {"1024", "32", "128"})
      .input("weight", DType::kF16, {"128"})
      .input("cosine", DType::kF32, {"1024", "1", "64"})
      .input("sine", DType::kF32, {"1024", "1", "64"})
      .initializer("epsilon", f32({1}, {1e-6}))
      .initializer("sizes", i64({2}, {64, 64}))
      .node("Cast", {"query"}, {"x"}, {{"to", int64_t{1}}})
      .node("Cast", {"weight"}, {"w"}, {{"to", int64_t{1}}})
      .node("Mul", {"x", "x"}, {"square"})
      .node("ReduceMean", {"square"}, {"mean"}, {{"axes", Ints{2}}})
      .node("Add", {"mean", "epsilon"}, {"safe"})
      .node("Sqrt", {"safe"}, {"root"})
      .node("Div", {"x", "root"}, {"normal"})
      .node("Mul", {"normal", "w"}, {"scaled"})
      .node("Split", {"scaled", "sizes"}, {"low", "high"}, {{"axis", int64_t{2}}})
      .node("Mul", {"low", "cosine"}, {"low_cosine"})
      .node("Mul", {"high", "sine"}, {"high_sine"})
      .node("Mul", {"high", "cosine"}, {"high_cosine"})
      .node("Mul", {"low", "sine"}, {"low_sine"})
      .node("Sub", {"low_cosine", "high_sine"}, {"first"})
      .node("Add", {"high_cosine", "low_sine"}, {"second"})
      .node("Concat", {"first", "second"}, {"rotated"}, {{"axis", int64_t{2}}})
      .node("Cast", {"rotated"}, {"out"}, {{"to", int64_t{10}}})
      .output("out", DType::kF16);
}

void long_softmax(ModelBuilder& model) {
  model.input("logits", DType::kF32, {"256", "131072"})
      .node("Softmax", {"logits"}, {"probs"}, {{"axis", int64_t{1}}})
      .output("probs");
}

void batch_norm_training(ModelBuilder& model) {
  model.input("x", DType::kF32, {"32", "64", "28", "28"});
  for (const char* const name : {"scale", "bias", "mean", "variance"})
    model.input(name, DType::kF32, {"64"});
  model
      .node("BatchNormalization", {"x", "scale", "bias", "mean", "variance"},
            {"normal", "running_mean", "running_variance"}, {{"training_mode", int64_t{1}}})
      .node("Relu", {"normal"}, {"activated"})
      .output("activated")
      .output("running_mean")
      .output("running_variance");
}

void prompt_embedding(ModelBuilder& model) {
  model.input("prompt", DType::kF32, {"1", "20", "768"})
      .input("table", DType::kF32, {"2000", "768"})
      .input("ids", DType::kI64, {"8", "100"})
      .initializer("shape", i64({3}, {8, 20, 768}))
      .initializer("starts", i64({1}, {1}))
      .initializer("ends", i64({1}, {120}))
      .initializer("axes", i64({1}, {1}))
      .initializer("pads", i64({6}, {0, 0, 0, 0, 9, 0}))
      .node("Gather", {"table", "ids"}, {"words"})
      .node("Expand", {"prompt", "shape"}, {"prompts"})
      .node("Concat", {"prompts", "words"}, {"all"}, {{"axis", int64_t{1}}})
      .node("Slice", {"all", "starts", "ends", "axes"}, {"cut"})
      .node("Pad", {"cut", "pads"}, {"padded"})
      .output("padded");
}

void quantised_residual(ModelBuilder& model) {
  model.input("conv", DType::kI8, {"16", "64", "28", "28"})
      .input("conv_scale", DType::kF32, {"64"})
      .input("conv_zero", DType::kI8, {"64"})
      .input("skip", DType::kI8, {"16", "64", "28", "28"})
      .initializer("skip_scale", f32({}, {0.04}))
      .initializer("skip_zero", make_tensor(DType::kI8, {}, {3}))
      .initializer("out_scale", f32({}, {0.05}))
      .initializer("out_zero", make_tensor(DType::kI8, {}, {-7}))
      .node("DequantizeLinear", {"conv", "conv_scale", "conv_zero"}, {"x"}, {{"axis", int64_t{1}}})
      .node("DequantizeLinear", {"skip", "skip_scale", "skip_zero"}, {"residual"})
      .node("Add", {"x", "residual"}, {"total"})
      .node("Relu", {"total"}, {"positive"})
      .node("QuantizeLinear", {"positive", "out_scale", "out_zero"}, {"activated"})
      .output("activated", DType::kI8);
}

void key_transpose(ModelBuilder& model) {
  model.input("key", DType::kF16, {"4", "128", "768"})
      .input("bias", DType::kF16, {"768"})
      .initializer("heads", i64({4}, {4, 128, 12, 64}))
      .node("Add", {"key", "bias"}, {"biased"})
      .node("Reshape", {"biased", "heads"}, {"split"})
      .node("Transpose", {"split"}, {"transposed"}, {{"perm", Ints{0, 2, 3, 1}}})
      .output("transposed", DType::kF16);
}

}  // namespace

std::vector<ExemplarModel> write_exemplar_models(const std::filesystem::path& folder) {
  std::vector<ExemplarModel> models;
  const auto add = [&](const std::string& name, std::vector<ExemplarFigures> figures,
                       const auto& build) {
    ModelBuilder model;
    build(model);
    models.push_back({name, std::move(figures), model.save(folder / (name + ".onnx"))});
  };
  add("a_softmax", {{"a_softmax", 0, 0, 0, 54, 1.000, 1.000, 1, 16, 16}}, softmax);
  add("b_layer_norm_gelu", {{"b_layer_norm_gelu", 2, 0, 0, 31, 1.000, 1.494, 1, 6, 6}},
      layer_norm_gelu);
  add("c_masked_softmax", {{"c_masked_softmax", 0, 0, 0, 32, 1.000, 1.125, 1, 5, 5}},
      masked_softmax);
  add("d_group_norm",
      {{"d_group_norm_cluster", 2, 2, 0, 56, 0.949, 1.062, 1, 10, 20},
       {"d_group_norm_shared", 2, 0, 0, 32, 0.949, 1.062, 1, 12, 24}},
      group_norm_silu);
  add("e_log_softmax_loss",
      {{"e_log_softmax_loss_cluster", 2, 2, 0, 40, 1.000, 1.000, 1, 8, 11},
       {"e_log_softmax_loss_grid", 3, 0, 1, 64, 0.950, 1.057, 1, 12, 25}},
      log_softmax_loss);
  add("f_row_reduce_32", {{"f_row_reduce_packed", 0, 0, 0, 48, 1.000, 1.000, 1, 8, 9}},
      [](ModelBuilder& model) { row_norms(model, "32"); });
  add("f_row_reduce_31", {{"f_row_reduce_staged", 1, 0, 0, 48, 1.000, 1.000, 1, 8, 9}},
      [](ModelBuilder& model) { row_norms(model, "31"); });
  add("g_row_reduce_split", {{"g_row_reduce_split", 2, 0, 1, 31, 0.985, 1.017, 1, 8, 13}},
      centred_rows);
  add("h_column_reduce", {{"h_column_reduce", 3.02, 0, 1, 48, 1.000, 1.016, 1, 19, 19}},
      column_sums);
  add("i_layer_norm_backward",
      {{"i_layer_norm_backward", 18.25, 0, 1, 96, 0.983, 1.073, 1, 13, 34}}, layer_norm_backward);
  add("j_split_heads", {{"j_split_heads", 0, 0, 0, 30, 1.000, 1.249, 1, 5, 5}}, split_heads);
  add("k_power_broadcast_add", {{"k_power_broadcast_add", 1, 0, 0, 48, 1.000, 1.000, 1, 16, 17}},
      power_broadcast_add);
  add("l_rms_norm_rope", {{"l_rms_norm_rope", 0, 0, 0, 77, 0.905, 1.273, 1, 14, 14}},
      rms_norm_rope);
  add("m_softmax_streaming", {{"m_softmax_streaming", 1, 0, 0, 48, 1.000, 1.500, 1, 12, 12}},
      long_softmax);
  add("n_batch_norm",
      {{"n_batch_norm_stitched", 5, 0, 2, 32, 0.973, 1.032, 1, 8, 28},
       {"n_batch_norm_twin", 0.80, 0, 0.20, 32, 0.983, 1.529, 1, 12, 28}},
      batch_norm_training);
  add("o_prompt_embedding", {{"o_prompt_embedding", 0, 0, 0, 30, 0.981, 1.097, 1, 8, 12}},
      prompt_embedding);
  add("p_int8_residual", {{"p_int8_residual", 0, 0, 0, 32, 0.964, 1.043, 1, 3, 5}},
      quantised_residual);
  add("q_key_transpose", {{"q_key_transpose", 1, 0, 0, 32, 1.000, 1.061, 1, 5, 5}}, key_transpose);
  return models;
}

}  // namespace stitch
