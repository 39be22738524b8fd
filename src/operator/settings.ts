import type { JsonValue } from '../ports/read-model/read-model.ts';
import { InTurn } from '../runtime/util/in-turn.ts';
import { actorOf, recordAct, type ActsParts } from './server/acts.ts';
import { CommandRefused, type AdminArguments, type AdminCommands } from './server/commands.ts';

/** Settings that can be changed while the service runs. */
export interface LiveSettings {
  /** Each with its current value and its value at start. */
  shown(): readonly { readonly name: string; readonly value: string; readonly atStart: string }[];
  /** Checks all changes without applying any. Rejects with an error that names the invalid one. */
  prepare(changes: Readonly<Record<string, string>>): Promise<PreparedChange>;
}

export interface PreparedChange {
  /** What may be disclosed of each new value: some contain keys. */
  readonly loggable: Readonly<Record<string, string>>;
  readonly apply: () => void;
}

/** `quittance settings ...`, effective until the next start. */
export function settingsCommands(
  settings: LiveSettings,
  parts: ActsParts,
  warn: (facts: object, message: string) => void,
): AdminCommands {
  const shown = () => settings.shown().map(({ name, value, atStart }) => ({ name, value, at_start: atStart }));
  // Each change is prepared from the result of the previous one.
  const turns = new InTurn();
  const set = async (args: AdminArguments): Promise<JsonValue> => {
    const given = changesIn(args['changes']);
    const { loggable, apply } = await settings.prepare(given);
    const subject = Object.entries(loggable)
      .map(([name, value]) => `${name}=${value}`)
      .join(' ');
    await recordAct(parts, 'settings.set', subject, args);
    apply();
    warn({ changes: loggable, actor: actorOf(args) }, 'an operator changed settings');
    return { settings: shown(), note: NOTE };
  };
  return {
    'settings.show': () => Promise.resolve({ settings: shown(), note: NOTE }),
    'settings.set': (args) => turns.run(() => set(args)),
  };
}

const NOTE =
  'in this process until it ends: also put permanent changes into its environment; the signer keeps the providers that it started with';

function changesIn(given: unknown): Record<string, string> {
  const texts: unknown[] = Array.isArray(given) ? given : [];
  if (texts.length === 0)
    throw new CommandRefused('changes is missing: give at least one setting, such as LOG_LEVEL=debug');
  const changes: Record<string, string> = {};
  for (const text of texts) {
    const at = typeof text === 'string' ? text.indexOf('=') : -1;
    if (typeof text !== 'string' || at < 1)
      throw new CommandRefused(`changes: entry ${Object.keys(changes).length + 1} is not NAME=value`);
    const name = text.slice(0, at);
    if (Object.hasOwn(changes, name)) throw new CommandRefused(`changes: ${name} is named twice`);
    changes[name] = text.slice(at + 1);
  }
  return changes;
}
