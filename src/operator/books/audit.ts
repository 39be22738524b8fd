import { CommandRefused, json, optionalText, type AdminCommands } from '../server/commands.ts';
import { parseSessionId } from '../../domain/values/ids.ts';
import { presentProof } from '../../http/presenters/audit.presenter.ts';
import type { EventStore } from '../../ports/event-log/event-store.ts';
import { AuditRecords } from '../../features/audit/records.ts';
import type { RunningAudit } from '../../features/audit/running-audit.ts';
import { messageOf } from '../../runtime/util/message-of.ts';
import { requiredWhole } from '../server/whole-number.ts';

const NOBODY_SIGNS =
  "this process has no signer: ask the signer's process, which needs a wallet and SIGNER_JOURNAL_DIR";

/** `quittance audit checkpoint | key | prove` in the running service. */
export function auditCommands(
  { tree, state, verifierKey, sequencer, readOnly }: RunningAudit,
  store: EventStore,
): AdminCommands {
  const records = new AuditRecords({ store, tree, verifierKey });
  /** A damaged log may not be readable here, and the damage must be reported all the same. */
  const newestSize = async (): Promise<number | null> =>
    (await records.checkpoints({ limit: 1 })).checkpoints[0]?.size ?? null;
  return {
    'audit.checkpoint': async (args) => {
      const [newest] = args.now === true ? [] : (await records.checkpoints({ limit: 1 })).checkpoints;
      if (newest) return { checkpoint: newest.checkpoint };
      if (!sequencer) throw new CommandRefused(NOBODY_SIGNS);
      return { checkpoint: (await refusingly(() => sequencer.signNow())).checkpoint };
    },
    'audit.key': async () => {
      const key = verifierKey();
      if (key === null) throw new CommandRefused(NOBODY_SIGNS);
      return { verifier_key: key };
    },
    'audit.status': async () =>
      json({
        ...state(),
        read_only: readOnly() !== null,
        reason: readOnly(),
        checkpoint_size: await newestSize().catch((error: unknown) => {
          if (readOnly() === null) throw error;
          return null;
        }),
      }),
    'audit.prove': async (args) => {
      const session = optionalText(args, 'session');
      if (session === undefined) {
        const [from, to] = [requiredWhole(args, 'from', SIZE), requiredWhole(args, 'to', SIZE)];
        return { from, to, proof: await refusingly(() => records.consistency(from, to)) };
      }
      const id = parseSessionId(session);
      if (id === null) throw new CommandRefused('session is not a session id');
      return presentProof(id, await refusingly(() => records.proofOf(id)), verifierKey());
    },
  };
}

/** A number of events. */
const SIZE = { min: 1 };

/** What cannot be done now is an answer, not a fault. */
async function refusingly<Value>(task: () => Promise<Value>): Promise<Value> {
  try {
    return await task();
  } catch (error) {
    throw new CommandRefused(messageOf(error));
  }
}
