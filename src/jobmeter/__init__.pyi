from jobmeter.hooks.api import Api as Api
from jobmeter.hooks.run import Run as Run
from jobmeter.hooks.session import alert as alert
from jobmeter.hooks.session import event as event
from jobmeter.hooks.session import finish as finish
from jobmeter.hooks.session import init as init
from jobmeter.hooks.session import log as log

__version__: str
run: Run | None
