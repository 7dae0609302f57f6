from tests.plugin.conftest import project  # noqa: F401
from tests.session.conftest import bench, shared_server  # noqa: F401
