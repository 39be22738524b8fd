import { type AdminCommands, refused, requiredMode } from '../server/commands.ts';
import type { CommandParts } from './arguments.ts';
import type { Mode } from '../../domain/values/ids.ts';
import { toSec } from '../../ports/clock.ts';
import type { LogPlace } from '../../ports/signer/approvals.ts';
import type { MoveExecutor } from '../../features/payouts/moves/records.ts';
import { operatorIn } from '../server/acts.ts';
import { agree } from './approvals.ts';
import { signerStanding } from './payouts.ts';

/**
 * Lets a stopped signer sign again. The approvers' text names the networks whose journal was lost; these continue from
 * the entry that says so, which is recorded in the event log.
 */
export function resumeCommands(parts: CommandParts): AdminCommands {
  const { signer } = parts.payouts;
  return {
    'treasury.resume': async (args) => {
      const mode = requiredMode(args);
      const proposedBy = operatorIn(args, 'operator');
      const executors = parts.treasury().moves.executors.filter(({ chain }) => chain.mode === mode);
      const anew = (await Promise.all(executors.map((executor) => lostPlaceOf(parts, executor)))).flat();
      const agreed = await agree(signer, [{ kind: 'resume', mode, anew, proposedBy }], args);
      if (!agreed.ok) return agreed.answer;
      if (agreed.done)
        for (const executor of executors)
          await beginAnew(parts, executor, { mode, proposedBy, approvers: agreed.approvers });
      return signerStanding(signer, mode, agreed);
    },
  };
}

/** Where the event log stands, when the journal knows nothing of it. */
async function lostPlaceOf({ payouts }: CommandParts, executor: MoveExecutor): Promise<LogPlace[]> {
  const { mode, network } = executor.chain;
  const { journal: place } = await executor.context();
  if (place === null) return [];
  const since = await payouts.signer.signedAfter(mode, network, place);
  return 'payments' in since ? [] : [{ network, place }];
}

/** Does nothing where the network did not start anew, or where that is already recorded. */
async function beginAnew(
  { payouts: { signer }, clock, treasury }: CommandParts,
  executor: MoveExecutor,
  who: { readonly mode: Mode; readonly proposedBy: string; readonly approvers: readonly string[] },
): Promise<void> {
  const { network } = executor.chain;
  const { journal: from } = await executor.context();
  const to = (await signer.status(who.mode)).lastPlaces[network];
  if (from === null || !to || to.hash === from.hash) return;
  const since = await signer.signedAfter(who.mode, network, from);
  // What was signed since is taken over payment by payment.
  if (!('payments' in since) || since.payments.length > 0) return;
  const facts = { network, why: 'begun_anew', from, to, passed: null, movedAtSec: toSec(clock.nowMs()) } as const;
  const fault = await executor.tell({ type: 'MoveJournalPlace', data: { ...who, ...facts } }, who.proposedBy);
  if (fault !== null) refused(fault);
  treasury().moves.wake(executor);
}
