import { nodeRandom } from '../../adapters/node/random.ts';
import { openSqliteEventStore } from '../../adapters/sqlite/event-log/event-store.ts';
import { InvalidConfig, type Config } from '../../config.ts';
import { recordAct, nameInTerms, reasonInTerms } from '../../operator/server/acts.ts';
import { CommandRefused, requiredText, type AdminArguments } from '../../operator/server/commands.ts';
import { requiredWhole } from '../../operator/server/whole-number.ts';
import { systemClock } from '../../ports/clock.ts';
import type { JsonValue } from '../../ports/read-model/read-model.ts';
import { authenticationKeys } from '../../settings/sealing-keys.ts';
import { checkOwnLog } from '../audit/audit.ts';
import { ownKeys } from './own-keys.ts';

/**
 * `quittance audit accept`: an operator answers for an event log whose seal does not hold, because its key is lost.
 * Everything else about it must be sound. The record of it, sealed with the present key, seals what precedes it.
 */
export async function acceptEventLog(config: Config, args: AdminArguments): Promise<JsonValue> {
  if (config.EVENTSTORE_URL !== undefined)
    throw new InvalidConfig('EVENTSTORE_URL: only the event log of a data directory is sealed');
  const events = requiredWhole(args, 'events', { min: 1 });
  const [operator, reason] = [nameInTerms(requiredText(args, 'operator'), 'operator'), reasonInTerms(args)];
  const dataDir = config.DATA_DIR;
  const sealKeys = authenticationKeys(ownKeys(config).sealingKeys);
  const sealed = await openSqliteEventStore({ dataDir, sealKeys, readDamaged: true });
  await sealed.close();
  if (sealed.refusal === null)
    throw new CommandRefused(`the seal of the event log in ${dataDir} holds: there is nothing to accept`);
  const store = await openSqliteEventStore({ dataDir, sealKeys, acceptedEnd: events });
  try {
    await checkOwnLog(config, store, { checkpoint: () => Promise.resolve(null) });
    if (store.refusal !== null) throw new CommandRefused(store.refusal);
    const subject = `${events} events: ${reason}`;
    await recordAct({ store, clock: systemClock, random: nodeRandom }, 'audit.accept', subject, { operator });
    return { accepted_events: events, because: sealed.refusal };
  } finally {
    await store.close();
  }
}
