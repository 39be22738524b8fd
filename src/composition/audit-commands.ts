import { CommandRefused, optionalText, requiredText, type AdminArguments, type AdminCommands } from '../cli/admin-commands.ts';
import { parseSessionId } from '../domain/ids.ts';
import { presentProof } from '../http/presenters/audit.presenter.ts';
import type { EventStore } from '../ports/event-store.ts';
import type { JsonValue } from '../ports/read-model.ts';
import { AuditRecords } from '../use-cases/audit-records.ts';
import { compareCommands } from './projection-compare.ts';
import type { RunningAudit } from './audit.ts';

/** `quittance audit checkpoint | key | prove` in the running service. */
export function auditCommands({ tree, identity, sequencer, comparison, readOnly }: RunningAudit, store: EventStore): AdminCommands {
  const records = new AuditRecords({ store, tree, identity });
  return {
    ...(comparison && compareCommands(comparison)),
    'audit.checkpoint': async (args) => {
      if (!sequencer) throw new CommandRefused('nobody signs here: the signer needs a wallet and SIGNER_JOURNAL_DIR');
      if (args.now === true) return { checkpoint: (await refusingly(() => sequencer.signNow())).checkpoint };
      const last = sequencer.last ?? (await refusingly(() => sequencer.signNow()));
      return { checkpoint: last.checkpoint };
    },
    'audit.key': async () => {
      if (!identity) throw new CommandRefused('nobody signs here: the signer needs a wallet and SIGNER_JOURNAL_DIR');
      return { verifier_key: identity.verifierKey };
    },
    'audit.status': async () => ({
      ...(tree.state as unknown as { [key: string]: JsonValue }),
      read_only: readOnly() !== null,
      reason: readOnly(),
      checkpoint_size: sequencer?.last?.size ?? null,
    }),
    'audit.prove': async (args) => {
      const session = optionalText(args, 'session');
      if (session === undefined) {
        const [from, to] = [sizeOf(args, 'from'), sizeOf(args, 'to')];
        return { from, to, proof: await refusingly(() => records.consistency(from, to)) };
      }
      const id = parseSessionId(session);
      if (id === null) throw new CommandRefused('session is not a session id');
      return presentProof(id, await refusingly(() => records.proofOf(id)), identity);
    },
  };
}

function sizeOf(args: AdminArguments, name: string): number {
  const text = requiredText(args, name);
  if (!/^[1-9]\d{0,14}$/.test(text)) throw new CommandRefused(`${name} must be a number of events`);
  return Number(text);
}

/** What cannot be done now is an answer, not a fault. */
async function refusingly<Value>(task: () => Promise<Value>): Promise<Value> {
  try {
    return await task();
  } catch (error) {
    throw new CommandRefused(error instanceof Error ? error.message : String(error));
  }
}
