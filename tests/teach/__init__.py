"""Small programs, sound ones and ones with a mistake, by which reviews are judged."""

from tests.teach import mistakes_afterwards as mistakes_afterwards
from tests.teach import mistakes_data as mistakes_data
from tests.teach import mistakes_everyday as mistakes_everyday
from tests.teach import mistakes_examined as mistakes_examined
from tests.teach import mistakes_graph as mistakes_graph
from tests.teach import mistakes_model as mistakes_model
from tests.teach import mistakes_origins as mistakes_origins
from tests.teach import mistakes_training as mistakes_training
from tests.teach import sound_data as sound_data
from tests.teach import sound_everyday as sound_everyday
from tests.teach import sound_examined as sound_examined
from tests.teach import sound_losses as sound_losses
from tests.teach import sound_models as sound_models
from tests.teach import sound_origins as sound_origins
from tests.teach import sound_training as sound_training
from tests.teach.cases import CASES as CASES
from tests.teach.cases import Case as Case
from tests.teach.setup import Setup as Setup
