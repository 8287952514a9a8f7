#include "cli/progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <csignal>

namespace saltus::cli {

namespace {

std::atomic<bool> pressed = false;

std::string duration(double seconds) {
  if (seconds < 100.0) return fmt::format("{:.0f} s", seconds);
  if (seconds < 6000.0) return fmt::format("{:.0f} min", seconds / 60.0);
  return fmt::format("{:.1f} h", seconds / 3600.0);
}

double share_of(const Progress& p) {
  return p.stop == p.start ? 1.0 : std::clamp((p.t - p.start) / (p.stop - p.start), 0.0, 1.0);
}

std::string progress_bar(double share) {
  const auto filled = static_cast<std::size_t>(30.0 * share);
  return fmt::format("[{:<30}] {:3.0f} %", std::string(filled, '#'), 100.0 * share);
}

}  // namespace

InterruptGuard::InterruptGuard() {
  pressed = false;
  previous_ = std::signal(SIGINT, [](int) {
    pressed = true;
    std::signal(SIGINT, SIG_DFL);
  });
}
InterruptGuard::~InterruptGuard() {
  std::signal(SIGINT, previous_);
}
bool InterruptGuard::interrupted() {
  return pressed;
}

std::string progress_line(const Progress& p, double seconds) {
  const double share = share_of(p);
  std::string line = fmt::format("{}  t = {:.6g}  {} steps  {} events", progress_bar(share), p.t, p.steps, p.events);
  if (share > 0.005) line += fmt::format("  {} left", duration(seconds * (1.0 - share) / share));
  return line;
}

std::string search_line(const SearchProgress& search, double begun, const Progress& run, double seconds) {
  std::string line = search.upper_bound ? "" : progress_bar(search.share) + "  ";
  line += fmt::format("{}  t = {:.6g}", search.doing, run.t);
  const double spent = seconds - begun;
  if (search.share > 0.0)
    line += fmt::format("  {}{} left", search.upper_bound ? "at most " : "",
                        duration(spent * (1.0 - search.share) / search.share));
  else if (const double share = share_of(run); share > 0.005)  // nothing but this run is known
    line += fmt::format("  {} left of this run", duration(spent * (1.0 - share) / share));
  return line;
}

void TerminalLine::show(const std::function<std::string(double seconds)>& text) {
  if (!enabled_) return;
  const auto now = std::chrono::steady_clock::now();
  if (now - began_ < std::chrono::milliseconds(700) || now - shown_ < std::chrono::milliseconds(100)) return;
  shown_ = now;
  const std::string line = text(std::chrono::duration<double>(now - began_).count());
  err_ << '\r' << line << std::string(width_ > line.size() ? width_ - line.size() : 0, ' ') << std::flush;
  width_ = std::max(width_, line.size());
}

void TerminalLine::clear() {
  if (width_ > 0) err_ << '\r' << std::string(width_, ' ') << '\r' << std::flush;
  width_ = 0;
}

bool ProgressBar::operator()(const Progress& p) {
  if (InterruptGuard::interrupted()) return false;
  line_.show([&](double seconds) { return progress_line(p, seconds); });
  return true;
}

void SearchBar::operator()(const SearchProgress& search) {
  // what comes before the first share, a transient for example, says nothing about the pace of the search
  if (search.share == 0.0) begun_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - started_).count();
  search_ = search;
}

bool SearchBar::operator()(const Progress& run) {
  line_.show([&](double seconds) { return search_line(search_, begun_, run, seconds); });
  return true;
}

}  // namespace saltus::cli
