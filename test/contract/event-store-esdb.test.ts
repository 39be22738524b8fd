import { openOnTarget, TARGET } from '../support/esdb-double/esdb-target.ts';
import { eventStoreContract } from './event-store.contract.ts';

eventStoreContract(`EventStoreDB (${TARGET})`, openOnTarget);
