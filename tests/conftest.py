"""What every test may use. Each file in tests/fixtures is one idea; its names:

database   an empty database, and the invariants after every test that moved a task
site       `site`: a web process on the test database; `worker`: a worker process beside it; they are forked from one
           that has loaded what no setting changes (tests/fixtures/loaded.py)
browser    `page`: a real Chromium that fails the test on script errors and policy violations
mailbox    `mailbox`: a real SMTP server
bucket     `artifact_store`: a folder, then a bucket of a real server of S3; `in_bucket`: that alone
static     static files are read once
prepared   statements that the server keeps are kept from test to test
names      no name of another machine is looked up
folders    a folder that is connected is allowed for its owner
look_ups   a template that asks for a name which nobody gives fails its test
branches   every template is rendered, and both branches of each `{% if %}`
factories  `world`: a project, its people, and the verbs of engine tests (tests/factories.py)
node       `drawer`: the Node that draws lines, one for the tests of a file; `no_node`: a server without one
drawn      the same examples in every run
memory     what stays in memory is left alone by the garbage collector
order      long files first
smoke      some cases of a long table here, all of them in the soak
hang       a process that dies says where
cold       each process of a run compiles a part of the tests
yardstick  the end of a long run says how long it took, beside what the machine is worth
skips      in CI no browser test and no isolation test may be skipped
"""

pytest_plugins = [
    "tests.fixtures.drawn",
    "tests.fixtures.node",
    "tests.fixtures.database",
    "tests.fixtures.site",
    "tests.fixtures.static",
    "tests.fixtures.bucket",
    "tests.fixtures.prepared",
    "tests.fixtures.browser",
    "tests.fixtures.mailbox",
    "tests.fixtures.memory",
    "tests.fixtures.order",
    "tests.fixtures.smoke",
    "tests.fixtures.hang",
    "tests.fixtures.cold",
    "tests.fixtures.skips",
    "tests.fixtures.yardstick",
    "tests.fixtures.folders",
    "tests.fixtures.names",
    "tests.fixtures.look_ups",
    "tests.fixtures.branches",
    "tests.factories",
]
