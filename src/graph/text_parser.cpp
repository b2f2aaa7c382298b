#include <fmt/format.h>

#include <cstdlib>
#include <map>
#include <optional>

#include "graph/attribute_fields.h"
#include "graph/text_form.h"
#include "graph/text_reader.h"

namespace stitch {
namespace {

class GraphParser {
 public:
  explicit GraphParser(std::string_view text) : reader_(text) {}

  Graph parse() {
    reader_.expect_word("graph");
    graph_.model_name = reader_.read_string();
    if (reader_.accept_word("onnx_nodes")) {
      reader_.expect('=');
      graph_.onnx_node_count = reader_.read_integer();
    }
    reader_.expect('{');
    while (!reader_.accept('}')) parse_line();
    reader_.expect_end();
    return std::move(graph_);
  }

 private:
  void parse_line() {
    if (reader_.accept_word("input")) {
      const TextReader::Place place = reader_.place();
      const std::string id = reader_.read_value_id();
      std::string name = reader_.peek() == '"' ? reader_.read_string() : "";
      reader_.expect(':');
      define(place, id, graph_.add_input(std::move(name), read_type()));
    } else if (reader_.accept_word("output")) {
      std::string name = reader_.read_string();
      graph_.add_output(std::move(name), read_use());
    } else {
      parse_node();
    }
  }

  void parse_node() {
    struct Result {
      TextReader::Place place;
      std::string id, name;
    };
    std::vector<Result> results;
    do {
      const TextReader::Place place = reader_.place();
      std::string id = reader_.read_value_id();
      std::string name = reader_.peek() == '"' ? reader_.read_string() : "";
      results.push_back({place, std::move(id), std::move(name)});
    } while (reader_.accept(','));
    reader_.expect('=');
    const TextReader::Place place = reader_.place();
    const std::string word = reader_.read_word("the name of an op");
    const std::optional<Op> op = parse_op(word);
    if (!op) reader_.fail(place, fmt::format("\"{}\" is not an op", word));

    std::vector<ValueId> operands;
    if (reader_.accept_on_line('(') && !reader_.accept(')')) {
      do operands.push_back(read_use());
      while (reader_.accept(','));
      reader_.expect(')');
    }
    Attributes attributes = default_attributes(*op);
    if (reader_.accept_on_line('{')) read_attributes(attributes);
    std::vector<ValueType> types;
    if (reader_.accept_on_line(':')) {
      do types.push_back(read_type());
      while (reader_.accept_on_line(','));
    }
    add(place, *op, std::move(operands), std::move(attributes), types);
    const Node& node = graph_.node(NodeId(graph_.node_count() - 1));
    if (node.results.size() != results.size()) {
      reader_.fail(place, fmt::format("{} has {} results", word, node.results.size()));
    }
    for (size_t i = 0; i < results.size(); ++i) {
      if (!results[i].name.empty()) graph_.set_name(node.results[i], results[i].name);
      define(results[i].place, results[i].id, node.results[i]);
    }
  }

  void add(TextReader::Place place, Op op, std::vector<ValueId> operands, Attributes attributes,
           const std::vector<ValueType>& types) {
    std::vector<SourceId> sources;
    for (SourceNode& source : reader_.read_sources()) sources.push_back(intern(std::move(source)));
    try {
      const NodeId id = graph_.add_node(op, std::move(operands), std::move(attributes),
                                        std::move(sources), types.empty() ? nullptr : &types[0]);
      const Node& node = graph_.node(id);
      for (size_t i = 0; i < std::min(types.size(), node.results.size()); ++i) {
        if (!(graph_.type(node.results[i]) == types[i])) {
          reader_.fail(place,
                       fmt::format("{} gives {}, not {}", name(op),
                                   to_string(graph_.type(node.results[i])), to_string(types[i])));
        }
      }
    } catch (const TextError&) {
      throw;
    } catch (const ModelError& error) {
      reader_.fail(place, error.what());
    } catch (const InternalError& error) {
      reader_.fail(place, error.what());
    }
  }

  SourceId intern(SourceNode source) {
    auto [found, fresh] = sources_.try_emplace({source.name, source.op_type});
    if (fresh) found->second = graph_.add_source(std::move(source));
    return found->second;
  }

  void define(TextReader::Place place, const std::string& id, ValueId value) {
    if (!values_.emplace(id, value).second) {
      reader_.fail(place, fmt::format("%{} is defined twice", id));
    }
  }

  ValueId read_use() {
    const TextReader::Place place = reader_.place();
    const std::string id = reader_.read_value_id();
    const auto found = values_.find(id);
    if (found == values_.end()) reader_.fail(place, fmt::format("%{} is not defined", id));
    return found->second;
  }

  ValueType read_type() {
    ValueType type;
    type.dtype = reader_.read_dtype();
    read_field(type.shape);
    return type;
  }

  // The fields of an attribute struct in any order; what is not given keeps its default.
  void read_attributes(Attributes& attributes) {
    if (auto* constant = std::get_if<ConstantAttributes>(&attributes)) {
      constant->tensor = reader_.read_tensor();
      reader_.expect('}');
      return;
    }
    if (reader_.accept('}')) return;
    do {
      const TextReader::Place place = reader_.place();
      const std::string key = reader_.read_word("the name of an attribute");
      reader_.expect('=');
      bool known = false;
      std::visit(
          [&](auto& fields) {
            visit_fields(fields, [&](const char* field, auto& value) {
              if (key != field) return;
              known = true;
              read_field(value);
            });
          },
          attributes);
      if (!known) reader_.fail(place, fmt::format("there is no attribute \"{}\" here", key));
    } while (reader_.accept(','));
    reader_.expect('}');
  }

  void read_field(Dim& dim) { dim = reader_.read_dim(); }
  void read_field(int64_t& value) { value = reader_.read_integer(); }
  void read_field(uint64_t& value) { value = static_cast<uint64_t>(reader_.read_integer()); }
  void read_field(int& value) { value = static_cast<int>(reader_.read_integer()); }
  void read_field(DType& dtype) { dtype = reader_.read_dtype(); }
  void read_field(Tensor&) {}  // of constants only, which have a syntax of their own

  void read_field(bool& value) {
    value = reader_.accept_word("true");
    if (!value) reader_.expect_word("false");
  }

  template <class Enum>
  requires std::is_enum_v<Enum>
  void read_field(Enum& value) {
    const TextReader::Place place = reader_.place();
    const std::string word = reader_.read_word("a word");
    const auto names = enumerator_names(Enum{});
    for (size_t i = 0; i < names.size(); ++i) {
      if (names[i] == word) {
        value = static_cast<Enum>(i);
        return;
      }
    }
    reader_.fail(place, fmt::format("\"{}\" is none of {}", word, fmt::join(names, ", ")));
  }

  template <class T>
  void read_field(std::vector<T>& values) {
    reader_.expect('[');
    values.clear();
    if (reader_.accept(']')) return;
    do {
      values.emplace_back();
      read_field(values.back());
    } while (reader_.accept(','));
    reader_.expect(']');
  }

  TextReader reader_;
  Graph graph_;
  std::map<std::string, ValueId> values_;
  std::map<std::pair<std::string, std::string>, SourceId> sources_;
};

}  // namespace

Graph parse_graph(std::string_view text) { return GraphParser(text).parse(); }

}  // namespace stitch
