//! The list of skills, for the model and for people.

use super::find::{Found, Skill};
use orlop_core::Value;
use serde_json::json;

/// How long the list for the model may be, in bytes.
const MAX_TOLD: usize = 16 * 1024;

/// What the model is told of the skills there are.
pub(super) fn told(skills: &[Skill]) -> Option<String> {
    let mut text = String::from(
        "Skills: instructions for kinds of tasks. When a task fits one, call the tool `skill` with its name before you begin.",
    );
    let shown: Vec<&Skill> = skills.iter().filter(|skill| !skill.is_hidden).collect();
    for (index, skill) in shown.iter().enumerate() {
        let line = format!("\n- {}: {}", skill.name, skill.description);
        if text.len() + line.len() > MAX_TOLD {
            let names: Vec<&str> = shown[index..].iter().map(|skill| &*skill.name).collect();
            text.push_str(&format!("\n- without description here: {}", names.join(", ")));
            break;
        }
        text.push_str(&line);
    }
    (!shown.is_empty()).then_some(text)
}

/// The result of `list_skills`.
pub(super) fn listed(found: &Found) -> Value {
    let mut lines: Vec<String> = found
        .skills
        .iter()
        .map(|skill| {
            let whose = if skill.is_of_project { "project" } else { "user" };
            format!("{} ({whose}): {}", skill.name, skill.description)
        })
        .collect();
    if lines.is_empty() {
        lines.push("There are no skills; put one into .agents/skills/NAME/SKILL.md.".to_owned());
    }
    lines.extend(found.problems.iter().map(|it| format!("{}: {}", it.path.display(), it.what)));
    let skills: Vec<Value> = found
        .skills
        .iter()
        .map(|skill| {
            json!({
                "name": skill.name,
                "description": skill.description,
                "folder": skill.folder,
                "project": skill.is_of_project,
                "hidden": skill.is_hidden,
            })
        })
        .collect();
    let problems: Vec<Value> =
        found.problems.iter().map(|it| json!({ "path": it.path, "problem": it.what })).collect();
    json!({ "message": lines.join("\n"), "skills": skills, "problems": problems })
}
