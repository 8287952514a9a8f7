// Plans as JSON: what a stored study is identified by, and read back from.
#pragma once

#include <saltus/study/plan.hpp>
#include <saltus/study/study.hpp>

#include <nlohmann/json.hpp>

namespace saltus {

nlohmann::ordered_json to_json(const StudyPlan& plan);
/// Throws nlohmann::json::exception or UsageError for what is no plan.
StudyPlan plan_from_json(const nlohmann::ordered_json& json);

nlohmann::ordered_json to_json(const StudyArray& array);
StudyArray array_from_json(const nlohmann::ordered_json& json);

}  // namespace saltus
