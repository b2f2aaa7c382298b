// What a person reads: results on stdout, stages, notes and progress on stderr.
#pragma once
#include <cstdio>
#include <string>

namespace stitch {

struct ConsoleOptions {
  bool quiet = false;  // errors only
  bool json = false;   // stdout carries one object, so stage lines are left out
};

// Each stage is one line; on a terminal the running one is live and replaced when it ends.
class Console {
 public:
  explicit Console(ConsoleOptions options);

  // "compile   97 distinct kernels": what a finished stage did.
  void stage(const std::string& name, const std::string& text);
  // The live line of the running stage, on a terminal only.
  void progress(const std::string& name, int done, int all, const std::string& text);
  // "note: text" on stderr.
  void note(const std::string& text);
  // A result line on stdout; dropped with --json and --quiet.
  void line(const std::string& text);
  // The object of --json.
  void json(const std::string& text);

  bool wants_json() const { return options_.json; }

 private:
  void clear_live_line();
  ConsoleOptions options_;
  bool terminal_ = false;
  bool live_ = false;
};

// 1234567 -> "1,234,567".
std::string with_thousands(long long number);
// Bytes as "71.3 MB" (10^6), "12.3 kB", "512 B".
std::string readable_bytes(long long bytes);

}  // namespace stitch
