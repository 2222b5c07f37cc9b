"""Every operation of the API × every kind of person: the letters are those of tests/access/matrix.py."""

from __future__ import annotations

PROJECT = "/api/owners/{owner}/projects/{project}"
LINE = "/api/owners/{owner}/projects/{project}/stages/{line}/tasks"
DRAFTS = "/api/owners/{owner}/projects/{project}/lines"

RUNNER = "/api/runner/{runner}"

# Operations by method and path, without their version: they are asked under /api/v1/, and /api/ is the same. A person
# comes with a token of all scopes, and again with the session of a page. They are asked in this order of one task, so
# that what needs its gate open stands above its cancelling.
API = f"""
                                       anonymous  stranger  viewer  operator  designer  reviewer  admin  machine
GET  /api/openapi.json                 a          a         a       a         a         a         a      a
GET  /api/line-document.schema.json    a          a         a       a         a         a         a      a
POST {LINE}                            >          0         -       y         y         y         y      y
GET  {LINE}                            >          0         y       y         y         y         y      y
GET  {LINE}/{{task}}                   >          0         y       y         y         y         y      y
GET  {LINE}/{{task}}/events            >          0         y       y         y         y         y      y
GET  {LINE}/{{task}}/decisions         >          0         y       y         y         y         y      y
POST {LINE}/{{task}}/retry             >          0         -       y         y         y         y      y
POST {LINE}/{{task}}/rerun-checks      >          0         -       y         y         y         y      y
GET  {LINE}/{{task}}/positions         >          0         y       y         y         y         y      y
GET  {LINE}/{{task}}/branch            >          0         y       y         y         y         y      y
GET  {LINE}/{{task}}/branch/bundle     >          0         y       y         y         y         y      y
POST {LINE}/{{task}}/complete          >          0         -       y         y         y         y      -
POST {LINE}/{{task}}/answer            >          0         -       y         y         y         y      -
POST {LINE}/{{task}}/hold              >          0         -       y         y         y         y      -
POST {LINE}/{{task}}/release           >          0         -       y         y         y         y      -
POST {LINE}/{{task}}/metadata          >          0         -       y         y         y         y      -
POST {LINE}/{{task}}/handoff           >          0         -       y         y         y         y      -
GET  {LINE}/{{task}}/visits            >          0         y       y         y         y         y      y
GET  {LINE}/{{task}}/visits/{{visit}}  >          0         y       y         y         y         y      y
GET  {LINE}/{{task}}/work-item         >          0         y       y         y         y         y      y
GET  {LINE}/{{task}}/escalations       >          0         y       y         y         y         y      y
POST {LINE}/{{task}}/escalations       >          0         -       y         y         y         y      -
POST {LINE}/{{task}}/escalations/{{escalation}}/resolve  >  0  -     -         -         -         y      -
GET  {LINE}/{{task}}/deadlocks         >          0         y       y         y         y         y      y
POST {LINE}/{{task}}/deadlocks/{{deadlock}}/resolve  >  0  -     -         -         -         y      -
POST {LINE}/{{task}}/dependencies      >          0         -       y         y         y         y      y
POST {LINE}/{{task}}/gates/{{gate}}    >          0         y       y         y         y         y      -
POST {LINE}/{{task}}/gates/{{gate}}/claim  >      0         -       -         -         y         y      -
DELETE {LINE}/{{task}}/gates/{{gate}}/claim  >    0         y       y         y         y         y      -
GET  {LINE}/{{task}}/gates/{{gate}}/questions  >  0         y       y         y         y         y      -
POST {LINE}/{{task}}/gates/{{gate}}/questions  >  0         -       -         -         y         y      -
POST {LINE}/{{task}}/gates/{{gate}}/questions/{{question}}/answer  >  0  -  y     -         -         -      -
PUT  {LINE}/{{task}}/gates/{{gate}}/snooze  >     0         -       -         -         y         y      -
DELETE {LINE}/{{task}}/gates/{{gate}}/snooze  >   0         y       y         y         y         y      -
GET  {LINE}/{{task}}/gates/{{gate}}/review  >     0         y       y         y         y         y      -
POST {LINE}/{{task}}/cancel            >          0         -       y         y         y         y      y
GET  {LINE}/{{task}}/visits/{{visit}}/log  >      0         y       y         y         y         y      y
GET  /api/tasks                        >          y         y       y         y         y         y      y
GET  /api/tasks/{{task}}               >          0         y       y         y         y         y      y
GET  /api/tasks/{{task}}/workflow-execution  >    0         y       y         y         y         y      y
POST /api/workflows/{{workflow}}/execute  >       0         -       y         y         y         y      y
GET  /api/workflow-executions/{{execution}}  >    0         y       y         y         y         y      y
GET  /api/workflow-executions/{{execution}}/stations  >  0  y       y         y         y         y      y
POST /api/workflow-executions/{{execution}}/retry-station  >  0  -  y         y         y         y      y
POST /api/workflow-executions/{{execution}}/cancel  >  0    -       y         y         y         y      y
POST /api/workflow-executions/{{execution}}/complete-station  >  0  -  y      y         y         y      -
POST /api/workflow-executions/{{execution}}/resume  >  0    -       y         y         y         y      -
GET  /api/lines                        >          y         y       y         y         y         y      y
GET  /api/needs                        >          y         y       y         y         y         y      -
POST /api/decisions                    >          y         y       y         y         y         y      -
GET  /api/projects                     >          y         y       y         y         y         y      y
POST /api/owners/{{owner}}/projects    >          0         -       -         -         -         y      -
GET  {PROJECT}                         >          0         y       y         y         y         y      y
PATCH {PROJECT}                        >          0         -       -         -         -         y      -
POST {PROJECT}/transfer                >          0         -       -         -         -         y      -
GET  {DRAFTS}/{{line}}/start-form      >          0         -       y         y         y         y      y
PATCH {DRAFTS}/{{line}}                >          0         -       -         y         -         y      -
POST {DRAFTS}/{{line}}/duplicate       >          0         y       y         y         y         y      -
GET  {PROJECT}/members                 >          0         y       y         y         y         y      y
GET  /api/absences                     >          y         y       y         y         y         y      -
POST /api/absences                     >          y         y       y         y         y         y      -
DELETE /api/absences/{{absence}}       >          0         0       0         0         0         y      -
GET  {PROJECT}/health                  >          0         y       y         y         y         y      y
GET  {PROJECT}/repositories            >          0         -       -         y         -         y      -
PUT  {PROJECT}/repositories/{{name}}   >          0         -       -         -         -         y      -
POST {PROJECT}/repositories/{{name}}/test  >      0         -       -         -         -         y      -
POST /api/chats/{{channel}}/interactions  >      >         >       >         >         >         >      >
POST {PROJECT}/repositories/{{name}}/hook  >      >         >       >         >         >         >      >
DELETE {PROJECT}/repositories/{{name}} >          0         -       -         -         -         y      -
GET  {PROJECT}/secrets                 >          0         -       -         y         -         y      -
PUT  {PROJECT}/secrets/{{name}}        >          0         -       -         -         -         y      -
DELETE {PROJECT}/secrets/{{name}}      >          0         -       -         -         -         y      -
POST {PROJECT}/files                   >          0         -       y         y         y         y      y
POST {PROJECT}/import                  >          0         -       -         y         -         y      -
GET  {DRAFTS}                          >          0         y       y         y         y         y      y
GET  {DRAFTS}/{{line}}/export          >          0         y       y         y         y         y      y
GET  {DRAFTS}/{{line}}/document        >          0         y       y         y         y         y      y
GET  {DRAFTS}/{{line}}/draft           >          0         y       y         y         y         y      y
PUT  {DRAFTS}/{{line}}/draft           >          0         -       -         y         -         y      -
PATCH {DRAFTS}/{{line}}/draft          >          0         -       -         y         -         y      -
POST {DRAFTS}/{{line}}/draft/forms/{{what}}  >    0         y       y         y         y         y      y
GET  {DRAFTS}/{{line}}/draft/starters  >          0         -       -         y         -         y      -
POST {DRAFTS}/{{line}}/draft/import    >          0         -       -         y         -         y      -
GET  {DRAFTS}/{{line}}/draft/scenarios  >         0         y       y         y         y         y      y
POST {DRAFTS}/{{line}}/draft/scenarios  >         0         -       -         y         -         y      -
POST {DRAFTS}/{{line}}/draft/scenarios/run  >     0         y       y         y         y         y      y
POST {DRAFTS}/{{line}}/draft/scenarios/generate  >  0       -       -         y         -         y      -
POST {DRAFTS}/{{line}}/walk            >          0         y       y         y         y         y      y
POST {DRAFTS}/{{line}}/draft/matches   >          0         y       y         y         y         y      y
GET  {DRAFTS}/{{line}}/draft/trials    >          0         -       -         y         -         y      -
POST {DRAFTS}/{{line}}/draft/trials    >          0         -       -         y         -         y      -
GET  {DRAFTS}/{{line}}/draft/trials/{{trial}}  >  0         -       -         0         -         y      -
POST {DRAFTS}/{{line}}/draft/trials/{{trial}}/cancel  >  0  -       -         0         -         y      -
POST {DRAFTS}/{{line}}/publish         >          0         -       -         y         -         y      -
GET  {DRAFTS}/{{line}}/versions        >          0         y       y         y         y         y      y
GET  {DRAFTS}/{{line}}/difference      >          0         y       y         y         y         y      y
GET  {DRAFTS}/{{line}}/changes         >          0         y       y         y         y         y      y
GET  {DRAFTS}/{{line}}/picture         >          0         y       y         y         y         y      y
GET  {DRAFTS}/{{line}}/analytics       >          0         y       y         y         y         y      y
GET  {DRAFTS}/{{line}}/events          >          0         y       y         y         y         y      y
GET  {DRAFTS}/{{line}}/work-items      >          0         y       y         y         y         y      y
GET  {PROJECT}/work-items              >          0         y       y         y         y         y      y
GET  {PROJECT}/events                  >          0         y       y         y         y         y      y
GET  {DRAFTS}/{{line}}/scenarios       >          0         y       y         y         y         y      y
GET  {DRAFTS}/{{line}}/scenarios.yaml  >          0         y       y         y         y         y      y
PUT  {DRAFTS}/{{line}}/scenarios.yaml  >          0         -       -         y         -         y      -
PUT  {DRAFTS}/{{line}}/scenarios/{{key}}  >       0         -       -         y         -         y      -
DELETE {DRAFTS}/{{line}}/scenarios/{{key}}  >     0         -       -         y         -         y      -
POST {DRAFTS}/{{line}}/run-scenarios   >          0         y       y         y         y         y      y
POST {DRAFTS}/{{line}}/generate-scenarios  >      0         -       -         y         -         y      -
GET  {DRAFTS}/{{line}}/comments        >          0         y       y         y         y         y      y
POST {DRAFTS}/{{line}}/comments        >          0         y       y         y         y         y      -
PATCH {DRAFTS}/{{line}}/comments/{{comment}}  >   0         y       y         y         y         y      -
DELETE {DRAFTS}/{{line}}/comments/{{comment}}  >  0         y       -         -         -         -      -
GET  {DRAFTS}/{{line}}/backtest        >          0         y       y         y         y         y      y
POST {DRAFTS}/{{line}}/backtest        >          0         y       y         y         y         y      y
GET  {DRAFTS}/{{line}}/lint            >          0         y       y         y         y         y      y
POST {PROJECT}/lint                    >          0         y       y         y         y         y      y
POST {PROJECT}/plan                    >          0         y       y         y         y         y      y
GET  {DRAFTS}/{{line}}/impact          >          0         y       y         y         y         y      y
GET  {DRAFTS}/{{line}}/migrations      >          0         y       y         y         y         y      y
POST {DRAFTS}/{{line}}/migrations      >          0         -       -         y         -         y      -
GET  {DRAFTS}/{{line}}/migrations/{{migration}}    >          0         y       y         y         y         y      y
POST {DRAFTS}/{{line}}/migrations/{{migration}}/undo    >     0         -       -         y         -         y      -
POST {DRAFTS}/{{line}}/migrations/{{migration}}/continue    >     0     -       -         y         -         y      -
POST {PROJECT}/runners/register        >          0         -       -         -         -         y      -
GET  {PROJECT}/runners/events          >          >         >       >         >         >         >      >
POST {PROJECT}/runners/jobs            >          >         >       >         >         >         >      >
PATCH {PROJECT}/runners/{{runner}}     >          >         >       >         >         >         >      >
POST {PROJECT}/runners/{{runner}}/approval-requests  >  >   >       >         >         >         >      >
GET  {PROJECT}/runners/{{runner}}/approval-requests/{{asked}}  >  >  >  >         >         >         >      >
PATCH {PROJECT}/runs/{{run}}/jobs/{{job}}  >      >         >       >         >         >         >      >
POST {PROJECT}/artifacts               >          >         >       >         >         >         >      >
POST {RUNNER}                          >          >         >       >         >         >         >      >
POST {RUNNER}/tell                     >          >         >       >         >         >         >      >
POST {RUNNER}/sign-off                 >          >         >       >         >         >         >      >
POST {RUNNER}/leases                   >          >         >       >         >         >         >      >
POST {RUNNER}/waiting                  >          >         >       >         >         >         >      >
GET  {RUNNER}/files/{{name}}           >          >         >       >         >         >         >      >
POST {RUNNER}/jobs/{{job}}/claim       >          >         >       >         >         >         >      >
POST {RUNNER}/jobs/{{job}}/give-back   >          >         >       >         >         >         >      >
POST {RUNNER}/jobs/{{job}}/material    >          >         >       >         >         >         >      >
POST {RUNNER}/jobs/{{job}}/before      >          >         >       >         >         >         >      >
POST {RUNNER}/jobs/{{job}}/wanted      >          >         >       >         >         >         >      >
PUT  {RUNNER}/jobs/{{job}}/files/{{digest}}  >    >         >       >         >         >         >      >
POST {RUNNER}/jobs/{{job}}/files/{{digest}}/parts  >  >     >       >         >         >         >      >
POST {RUNNER}/jobs/{{job}}/store       >          >         >       >         >         >         >      >
POST {RUNNER}/jobs/{{job}}/log         >          >         >       >         >         >         >      >
POST {RUNNER}/jobs/{{job}}/report      >          >         >       >         >         >         >      >
POST {RUNNER}/claims                   >          >         >       >         >         >         >      >
POST {RUNNER}/reports                  >          >         >       >         >         >         >      >
"""
