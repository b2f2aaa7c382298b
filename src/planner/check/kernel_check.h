// The rules that a kernel of a plan obeys: limits of the device, who may read what and when.
#pragma once
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "planner/access/access_substitute.h"
#include "planner/device/device_model.h"
#include "planner/plan/plan.h"

namespace stitch {

class KernelChecker {
 public:
  explicit KernelChecker(const Plan& plan);
  void check(const Kernel& kernel, std::vector<std::string>& problems);

 private:
  struct Placing {
    const Place* place = nullptr;
    const Stage* stage = nullptr;
    const Group* group = nullptr;
    size_t group_number = 0;
  };
  void check_limits();
  void check_cluster();
  void check_stage(const Stage& stage);
  void check_root(const Stage& stage, const Group& group, const Root& root);
  void check_cascade(const Group& group, const Root& root);
  void check_points(const Stage& stage, const Group& group, const Root& root);
  void walk_value(AccessValueId value, const std::vector<ExprId>& index);
  void walk_node(AccessNodeId node, AccessSubstitution* point);
  void walk_read(const Read& read, AccessSubstitution* point);
  void walk_expression(ExprId expression, AccessSubstitution* point);
  // True when a place holds the element; reports places that are used against their rules.
  bool is_served(AccessValueId value, const std::vector<Placing>& placings,
                 const std::vector<ExprId>& index);
  bool is_own_step(AccessValueId value, const std::vector<ExprId>& index);
  bool rows_are_own(AccessValueId value, const Placing& placing, const std::vector<ExprId>& index);
  void report(const std::string& what);
  std::string value_name(AccessValueId value) const;

  const Plan& plan_;
  AccessGraph graph_;  // a copy: walking interns expressions
  const DeviceModel& device_;
  std::unordered_map<AccessValueId, BufferId> buffers_;

  // Of the kernel, stage and group at hand.
  const Kernel* kernel_ = nullptr;
  std::vector<std::string>* problems_ = nullptr;
  std::unordered_set<AccessNodeId> own_nodes_;
  std::unordered_map<AccessValueId, std::vector<Placing>> placed_;
  const Stage* stage_ = nullptr;
  const Group* group_ = nullptr;
  size_t group_number_ = 0;
  std::unordered_set<uint64_t> seen_;
};

}  // namespace stitch
