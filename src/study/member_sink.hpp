// What a study keeps of a member while it runs: samples, counters, extrema and means. One text for all executors.
//
// Task is what the study wants: static functions on a device (device_source.cpp), HostTask on a processor. Member has
// the numbers of one member. Plain arithmetic without a library.
#pragma once

#include "flight/executor.hpp"
#include "study/window_arithmetic.hpp"

namespace saltus::flight {

template <class Task, class Member>
class MemberSink {
 public:
  MemberSink(Task& task, Member& member) : task_(task), m_(member) {}

  /// The step that was made, up to t_end. `inclusive`: samples at t_end belong to it.
  template <class State>
  void step(const State& r, const End& end, const StepView& s, double t_end, bool inclusive) {
    see_piece(r, end, s, t_end);
    see_samples(r, end, s, t_end, inclusive);
  }

  template <class State, class Record>
  void event(const State& r, const Record& record) {
    const double t = record.t;
    for (int k = 0; k < task_.counters(); ++k) {
      const int counter = task_.counter(k);
      const double more = record.after.discretes[counter] - r.discretes()[counter];
      if (more == 0.0 || !(t > m_.window || m_.window == m_.start)) continue;
      m_.counts[k] += more;
      if (!(m_.firsts[k] == m_.firsts[k])) m_.firsts[k] = t;
    }
    const int section = task_.section();
    if (section < 0 || record.after.discretes[section] == r.discretes()[section]) return;
    ++m_.seen;
    if (m_.seen > task_.transient())
      keep(record.mode_after, t, record.after.x, record.after.data, record.after.discretes);
    if (m_.seen == task_.transient()) m_.window = t;
    enough_ = m_.seen >= task_.transient() + task_.keep();
  }
  /// True if the last event was the last one that is wanted.
  bool enough() const { return enough_; }

  /// The member has reached its end.
  template <class State>
  void finish(const State& r) {
    typename Task::Room room(task_);
    task_.observe(r.mode, r.t, r.x(), r.data(), r.discretes(), room.values);
    m_.put_final(room.values, task_.kept());
    if (m_.period == 0.0 || !(r.t >= r.stop)) return;
    for (; m_.seen < task_.transient() + task_.keep(); ++m_.seen)
      if (m_.seen >= task_.transient()) m_.put_sample(m_.seen - task_.transient(), room.values, task_.kept());
  }

 private:
  template <class State>
  void dense_at(const State& r, const End& end, const StepView& s, double t, double* x) const {
    const double u = (t - r.t) / end.h;
    for (int j = 0; j < task_.variables(); ++j)
      x[j] = dense_value(s, task_.variables(), task_.degree(), j, r.x()[j], u);
  }

  template <class State>
  void see_samples(const State& r, const End& end, const StepView& s, double t_end, bool inclusive) {
    if (m_.period == 0.0) return;
    while (m_.seen + 1 < task_.transient() + task_.keep()) {
      const double t = m_.start + static_cast<double>(m_.seen + 1) * m_.period;
      if (!(t < t_end || (inclusive && t == t_end))) return;
      ++m_.seen;
      if (m_.seen <= task_.transient()) continue;
      typename Task::Room room(task_);
      dense_at(r, end, s, t, room.x);
      keep(r.mode, t, room.x, r.data(), r.discretes());
    }
  }

  /// Extrema and integrals.
  template <class State>
  void see_piece(const State& r, const End& end, const StepView& s, double t_end) {
    const double begin = r.t < m_.window ? m_.window : r.t;
    if (task_.dense() == 0 || !(t_end > begin)) return;
    typename Task::Room room(task_);
    see_window(task_.window_rule(), {room.times, room.window_values, room.at}, task_.dense(), begin, t_end,
               m_.window_sums(), [&](double t, bool, double* values) {
                 dense_at(r, end, s, t, room.x);
                 task_.observe_dense(r.mode, t, room.x, r.data(), r.discretes(), values);
               });
  }

  void keep(int mode, double t, const double* x, const double* data, const double* discretes) {
    typename Task::Room room(task_);
    task_.observe(mode, t, x, data, discretes, room.values);
    m_.put_sample(m_.seen - task_.transient() - 1, room.values, task_.kept());
  }

  Task& task_;
  Member& m_;
  bool enough_ = false;
};

}  // namespace saltus::flight
