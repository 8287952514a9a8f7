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
  const double share = p.stop == p.start ? 1.0 : std::clamp((p.t - p.start) / (p.stop - p.start), 0.0, 1.0);
  const auto filled = static_cast<std::size_t>(30.0 * share);
  std::string line = fmt::format("[{:<30}] {:3.0f} %  t = {:.6g}  {} steps  {} events", std::string(filled, '#'),
                                 100.0 * share, p.t, p.steps, p.events);
  if (share > 0.005) line += fmt::format("  {} left", duration(seconds * (1.0 - share) / share));
  return line;
}

bool ProgressBar::operator()(const Progress& p) {
  if (InterruptGuard::interrupted()) return false;
  if (!enabled_) return true;
  const auto now = std::chrono::steady_clock::now();
  if (now - began_ < std::chrono::milliseconds(700) || now - shown_ < std::chrono::milliseconds(100)) return true;
  shown_ = now;
  const std::string line = progress_line(p, std::chrono::duration<double>(now - began_).count());
  err_ << '\r' << line << std::string(width_ > line.size() ? width_ - line.size() : 0, ' ') << std::flush;
  width_ = std::max(width_, line.size());
  return true;
}

void ProgressBar::clear() {
  if (width_ > 0) err_ << '\r' << std::string(width_, ' ') << '\r' << std::flush;
  width_ = 0;
}

}  // namespace saltus::cli
