"""Documents of other systems, whole and in parts, as short as they are still told apart."""

from __future__ import annotations

ALP = {
    "id": "checks",
    "name": "Checks",
    "version": "1.0.0",
    "stations": [{"id": "intake", "name": "INTAKE", "trigger": {"type": "dispatch_worker"}}],
    "transitionRules": [
        {"id": "r1", "fromStationId": "intake", "toStationId": "end", "condition": "success"}
    ],
}
CONTENOX = {
    "id": "chain",
    "tasks": [
        {
            "id": "ask",
            "handler": "chat_completion",
            "transition": {"branches": [{"operator": "default", "goto": "end"}]},
        }
    ],
}
VIBE = {
    "workflow": {"id": "wf-1", "name": "Linear"},
    "stations": [{"id": "st-1", "workflow_id": "wf-1", "name": "Design", "position": 1}],
    "transitions": [{"id": "t-1", "source_station_id": "st-1", "condition_type": "always"}],
}
FLUX = {
    "name": "quick",
    "stages": [{"id": "run", "skill": "work", "onPass": "complete", "onFail": "complete"}],
}
AEEF = {"agent_id": "developer", "contract_version": "1.0.0", "role_owner": "lead"}
FOREIGN = [
    ("ALP", ALP),
    ("ALP", {key: said for key, said in ALP.items() if key != "transitionRules"}),
    ("ALP", {"name": "Checks", "description": "Heads only", "version": "1.0.0"}),
    ("ALP", {"id": "todo", "name": "Design", "trigger": {"type": "none"}}),
    ("ALP", [{"from": "todo", "to": "done", "condition": "success"}]),
    ("ALP", [{"id": "g", "name": "A gate", "requiresApproval": True}]),
    ("contenox", CONTENOX),
    ("Vibe Factory", VIBE),
    ("Vibe Factory", {"station_transitions": VIBE["transitions"]}),
    ("Flux", FLUX),
    ("Flux", [{"type": "loop", "id": "again", "maxIterations": 5, "onComplete": "deploy"}]),
    ("Flux", {"rules": [{"field": "exit_code", "severity": "block", "onFail": "hold"}]}),
    ("Flux", {"verdict": "pass", "run": {}, "issue": {}}),
    ("AEEF", AEEF),
    ("AEEF", {"version": 1, "agents": [{"agent_id": "developer", "status": "active"}]}),
    ("AEEF", {"handoff_id": "", "source_agent": ""}),
    ("AEEF", {"gate_id": "security", "criteria_results": []}),
    ("AEEF", {"transition": {"from": "A", "to": "B", "requires": []}}),
    ("AEEF", {"$id": "https://aeef.ai/schemas/agent-contract.schema.json"}),
]


TO_ITSELF = {
    "id": "t-1",
    "source_station_id": "st-1",
    "target_station_id": "st-1",
    "condition_type": "always",
}
WHOLE_VIBE = {**VIBE, "transitions": [TO_ITSELF]}
READ_OF_AEEF = [
    given
    for system, given in FOREIGN
    if system == "AEEF" and {"agent_id", "agents", "transition"} & given.keys()
]
READ = [
    *READ_OF_AEEF,
    ALP,
    {key: said for key, said in ALP.items() if key != "transitionRules"},
    CONTENOX,
    WHOLE_VIBE,
    FLUX,
]
PARTS = [(system, given) for system, given in FOREIGN if given not in READ and given is not VIBE]
