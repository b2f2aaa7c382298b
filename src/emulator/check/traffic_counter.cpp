#include "emulator/check/traffic_counter.h"

#include <algorithm>
#include <map>

namespace stitch::emulator {
namespace {

constexpr std::uint64_t kSectorBytes = 32;
constexpr std::uint64_t kBankBytes = 4;
constexpr std::size_t kBanks = 32;
constexpr std::uint64_t kWordBits = 64;

std::uint64_t trace_key(std::uint32_t block, unsigned warp) {
  return std::uint64_t{block} << 6 | warp;
}

template <class Bits>
std::uint64_t count_bits(const Bits& bits) {
  std::uint64_t count = 0;
  for (const std::uint64_t word : bits) count += static_cast<unsigned>(__builtin_popcountll(word));
  return count;
}

template <class Bits>
std::uint64_t count_bits(const Bits& bits, std::uint64_t begin, std::uint64_t end) {
  std::uint64_t count = 0;
  for (std::uint64_t b = begin; b < end; ++b) count += bits[b / kWordBits] >> b % kWordBits & 1u;
  return count;
}

// Whether some of the lanes that executed an instruction did so more often than others.
template <class Executed>
bool is_uneven(const Executed& executed) {
  std::uint32_t least = 0, most = 0;
  for (const std::uint32_t times : executed) {
    if (times == 0) continue;
    least = least == 0 ? times : std::min(least, times);
    most = std::max(most, times);
  }
  return least != most;
}

}  // namespace

void TrafficCounter::begin(const Launch&, const std::vector<ReachableRange>& scratch) {
  scratch_ = scratch;
}

void TrafficCounter::count_global(std::uint32_t block, const Thread& thread, const Access& access) {
  touch(access);
  add(block, thread, access, Space::kGlobal);
}

void TrafficCounter::count_shared(std::uint32_t block, const Thread& thread, const Access& access,
                                  bool remote) {
  add(block, thread, access, remote ? Space::kRemote : Space::kShared);
}

TrafficCounter::WarpTrace& TrafficCounter::trace_of(std::uint32_t block, unsigned warp) {
  const std::uint64_t key = trace_key(block, warp);
  if (key != last_trace_key_) {
    last_trace_ = &traces_[key];
    last_trace_key_ = key;
  }
  return *last_trace_;
}

void TrafficCounter::add(std::uint32_t block, const Thread& thread, const Access& access,
                         Space space) {
  WarpTrace& trace = trace_of(block, thread.warp);
  if (trace.last_site != access.site) {
    trace.last = &trace.sites[access.site];
    trace.last_site = access.site;
  }
  Site& site = *trace.last;
  const std::uint32_t n = site.executed[thread.view.lane]++;
  if (n >= site.requests.size()) site.requests.resize(n + 1);
  Request& request = site.requests[n];
  request.bytes = static_cast<std::uint8_t>(access.bytes);
  request.write = access.write;
  request.space = space;
  request.lane[request.lanes] = static_cast<std::uint8_t>(thread.view.lane);
  request.order[request.lanes] = trace.accesses[thread.view.lane]++;
  request.address[request.lanes++] = reinterpret_cast<std::uint64_t>(access.address);
}

void TrafficCounter::touch(const Access& access) {
  const auto begin = reinterpret_cast<std::uint64_t>(access.address);
  for (std::uint64_t a = begin; a < begin + access.bytes;) {
    const std::uint64_t number = a / kPageBytes;
    if (number != last_page_number_) {
      auto& page = pages_[number];
      if (!page) page = std::make_unique<TouchedPage>();
      last_page_ = page.get();
      last_page_number_ = number;
    }
    const std::uint64_t bit = a % kPageBytes;
    const std::uint64_t here = std::min(begin + access.bytes - a, kWordBits - bit % kWordBits);
    const std::uint64_t mask = (here == kWordBits ? ~0ull : (1ull << here) - 1) << bit % kWordBits;
    const std::size_t word = bit / kWordBits;
    if (access.write) {
      last_page_->written[word] |= mask;
    } else {
      last_page_->read_first[word] |= mask & ~last_page_->written[word];
      last_page_->read[word] |= mask;
      last_page_->read_back[word] |= mask & last_page_->written[word];
    }
    a += here;
  }
}

void TrafficCounter::flush(std::uint32_t block, unsigned warp) {
  WarpTrace& trace = trace_of(block, warp);
  for (const auto& [address, site] : trace.sites) {
    if (site.requests.empty()) continue;
    if (is_uneven(site.executed)) {
      count_uneven(trace, site);
    } else {
      for (const Request& request : site.requests) count(request);
    }
  }
  for (auto& [address, site] : trace.sites) {
    site.requests.clear();
    site.executed.fill(0);
  }
  trace.accesses.fill(0);
}

void TrafficCounter::count(const Request& request) {
  switch (request.space) {
    case Space::kGlobal:
      count_global_request(request);
      break;
    case Space::kShared:
      count_shared_request(request);
      break;
    case Space::kRemote:
      ++counts_.remote_requests;
      break;
  }
}

// Example: for (v = 0; v < 3; ++v) sum += (v + lane >= 1 ? x[v + lane - 1] : 0) * w[v]. Lane 0
// reads x[0] at v = 1 as its first, the others at v = 1 as their second. All lanes executed the
// load of w three times, so an access to x belongs to as many of those as its lane had made before
// it.
void TrafficCounter::count_uneven(const WarpTrace& trace, const Site& site) {
  const Site* beat = nullptr;
  std::uint32_t most = 0;
  for (const auto& [address, other] : trace.sites) {
    std::uint32_t times = 0;
    bool same = true;
    for (std::size_t lane = 0; lane < kLanes && same; ++lane) {
      if (site.executed[lane] == 0) continue;
      if (times == 0) times = other.executed[lane];
      same = times != 0 && other.executed[lane] == times;
    }
    if (!same || times <= most) continue;
    beat = &other;
    most = times;
  }
  std::array<std::vector<std::uint32_t>, kLanes> beats;
  if (beat != nullptr) {
    for (const Request& request : beat->requests)
      for (std::size_t i = 0; i < request.lanes; ++i)
        beats[request.lane[i]].push_back(request.order[i]);
  }
  using Iteration = std::pair<std::size_t, std::size_t>;  // beats before, accesses since
  std::map<Iteration, Request> requests;
  std::array<Iteration, kLanes> next{};
  for (const Request& request : site.requests) {
    for (std::size_t i = 0; i < request.lanes; ++i) {
      const std::uint8_t lane = request.lane[i];
      const auto& before = beats[lane];
      const auto position = static_cast<std::size_t>(
          std::lower_bound(before.begin(), before.end(), request.order[i]) - before.begin());
      if (next[lane].first != position) next[lane] = {position, 0};
      Request& joined = requests[next[lane]];
      ++next[lane].second;
      joined.bytes = request.bytes;
      joined.write = request.write;
      joined.space = request.space;
      joined.lane[joined.lanes] = lane;
      joined.address[joined.lanes++] = request.address[i];
    }
  }
  for (const auto& [iteration, request] : requests) count(request);
}

void TrafficCounter::finish(std::uint32_t block, unsigned warp) {
  flush(block, warp);
  traces_.erase(trace_key(block, warp));
  last_trace_key_ = ~std::uint64_t{0};
}

void TrafficCounter::count_global_request(const Request& request) {
  std::array<std::uint64_t, 2 * kLanes> sectors;
  std::size_t count = 0;
  for (std::size_t i = 0; i < request.lanes; ++i) {
    const std::uint64_t first = request.address[i] / kSectorBytes;
    const std::uint64_t last = (request.address[i] + request.bytes - 1) / kSectorBytes;
    sectors[count++] = first;
    if (last != first) sectors[count++] = last;
  }
  std::sort(sectors.begin(), sectors.begin() + count);
  count = static_cast<std::size_t>(std::unique(sectors.begin(), sectors.begin() + count) -
                                   sectors.begin());
  std::uint64_t bytes = 0;
  for (std::size_t s = 0; s < count; ++s) {
    std::uint64_t used = 0;  // one bit per byte of the sector
    const std::uint64_t begin = sectors[s] * kSectorBytes;
    for (std::size_t i = 0; i < request.lanes; ++i) {
      const std::uint64_t low = std::max(request.address[i], begin);
      const std::uint64_t high = std::min(request.address[i] + request.bytes, begin + kSectorBytes);
      if (low < high) used |= ((1ull << (high - low)) - 1) << (low - begin);
    }
    bytes += static_cast<unsigned>(__builtin_popcountll(used));
  }
  (request.write ? counts_.store_requests : counts_.load_requests) += 1;
  (request.write ? counts_.store_sectors : counts_.load_sectors) += count;
  (request.write ? counts_.store_bytes : counts_.load_bytes) += bytes;
  if (request.bytes == 16) ++counts_.vector_requests;
}

void TrafficCounter::count_shared_request(const Request& request) {
  // Words that the busiest bank has to serve for lanes [first, last), and distinct words in all.
  struct Depth {
    std::uint64_t wavefronts, words;
  };
  const auto depth_of = [&](unsigned first, unsigned last) {
    std::array<std::uint64_t, 4 * kLanes> words;
    std::size_t count = 0;
    for (std::size_t i = 0; i < request.lanes; ++i) {
      if (request.lane[i] < first || request.lane[i] >= last) continue;
      for (std::uint64_t b = 0; b < request.bytes; b += kBankBytes)
        words[count++] = (request.address[i] + b) / kBankBytes;
    }
    std::sort(words.begin(), words.begin() + count);
    count =
        static_cast<std::size_t>(std::unique(words.begin(), words.begin() + count) - words.begin());
    std::array<std::uint64_t, kBanks> bank{};
    for (std::size_t i = 0; i < count; ++i) ++bank[words[i] % kBanks];
    return Depth{*std::max_element(bank.begin(), bank.end()), count};
  };
  // 8-byte accesses are served by half warps and 16-byte ones by quarter warps, unless one pass
  // serves all.
  const Depth whole = depth_of(0, kLanes);
  std::uint64_t wavefronts = whole.wavefronts;
  const unsigned part = request.bytes <= 4 ? 32 : request.bytes == 8 ? 16 : 8;
  if (wavefronts > 1 && part < kLanes) {
    std::uint64_t sum = 0;
    for (unsigned first = 0; first < kLanes; first += part)
      sum += depth_of(first, first + part).wavefronts;
    wavefronts = std::max(wavefronts, sum);
  }
  ++counts_.shared_requests;
  counts_.shared_wavefronts += wavefronts;
  counts_.shared_ideal_wavefronts +=
      std::max<std::uint64_t>(1, (whole.words + kBanks - 1) / kBanks);
}

void TrafficCounter::end() {
  for (const auto& [number, page] : pages_) {
    counts_.distinct_load_bytes += count_bits(page->read_first);
    counts_.distinct_store_bytes += count_bits(page->written);
    counts_.read_back_bytes += count_bits(page->read_back);
    const std::uint64_t page_begin = number * kPageBytes;
    for (const ReachableRange& range : scratch_) {
      const std::uint64_t begin =
          std::max(reinterpret_cast<std::uint64_t>(range.begin), page_begin);
      const std::uint64_t end =
          std::min(reinterpret_cast<std::uint64_t>(range.end), page_begin + kPageBytes);
      if (begin >= end) continue;
      counts_.scratch_bytes += count_bits(page->read, begin - page_begin, end - page_begin) +
                               count_bits(page->written, begin - page_begin, end - page_begin);
    }
  }
  pages_.clear();
}

}  // namespace stitch::emulator
