#include "emulator/driver/report_text.h"

namespace stitch::emulator {
namespace {

std::string place_text(const CodePlace& place, const std::string& line) {
  std::string text = line;
  if (!text.empty()) text += ", ";
  return text + "block " + std::to_string(place.block) + " thread " + std::to_string(place.thread);
}

}  // namespace

std::string report_text(const Report& report) {
  std::string text = report_kind_name(report.kind);
  if (!report.kernel.empty()) text += " in " + report.kernel;
  text += ": " + report.message;
  if (report.place.known) text += ", at " + place_text(report.place, report.line);
  if (report.other.known) text += "; against " + place_text(report.other, report.other_line);
  return text;
}

}  // namespace stitch::emulator
