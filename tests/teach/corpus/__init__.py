"""Generated set-ups that are sound by construction, by which false alarms are measured."""

from tests.teach.corpus import classes as classes
from tests.teach.corpus import oddities as oddities
from tests.teach.corpus import pictures as pictures
from tests.teach.corpus import quantities as quantities
from tests.teach.corpus import sequences as sequences
from tests.teach.corpus import structures as structures
from tests.teach.corpus import unusual as unusual
from tests.teach.corpus.kinds import KINDS as KINDS
from tests.teach.corpus.kinds import SET_UPS as SET_UPS
from tests.teach.corpus.kinds import Generated as Generated
from tests.teach.corpus.kinds import generate as generate
