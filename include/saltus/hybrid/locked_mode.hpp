// A hybrid system that stays in the mode in which its run starts: to look at one mode by itself.
#pragma once

#include <saltus/dae/hybrid_system.hpp>

#include <memory>

namespace saltus {

/// The same family without switching. The start is settled as always: relations take their truths, clauses of the start
/// act. From then on no guard is watched and no time event happens: relations and discrete variables keep what they
/// have, also where their expressions say otherwise.
///
///   simulate(lock_mode(std::make_shared<CompiledModel>(model)), {.stop = 10.0});
///
/// Throws UsageError for systems with inputs, which change by events. A run that starts on a surface ends with
/// assertion_failed: a slide or a contact holds as long as its forces allow. Derivatives and saved states are those of
/// the system itself.
std::shared_ptr<HybridSystem> lock_mode(std::shared_ptr<HybridSystem> system);

}  // namespace saltus
