// A value that must be known at import, but depends on inputs of the model.
#pragma once
#include <string>
#include <vector>

#include "graph/error.h"

namespace stitch {

class DataDependence : public ModelError {
 public:
  // "WHAT must be known at compile time, but depends on the input 'a'", with the flag to pass.
  DataDependence(const std::string& what, const std::vector<std::string>& inputs);

  // Inputs that would have to be bound; none where they are too many to be a setting of the model.
  const std::vector<std::string>& inputs_to_bind() const { return inputs_; }

 private:
  std::vector<std::string> inputs_;
};

}  // namespace stitch
