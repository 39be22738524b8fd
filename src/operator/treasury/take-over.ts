import { operatorIn, reasonInTerms } from '../server/acts.ts';
import { type AdminCommands, optionalText, refused, requiredText } from '../server/commands.ts';
import type { Fate } from '../../ports/outgoing/transaction.ts';
import type { SignedPayment } from '../../ports/outgoing/signer.ts';
import type { JsonValue } from '../../ports/read-model/read-model.ts';
import type { MoveExecutor } from '../../features/payouts/moves/records.ts';
import { messageOf } from '../../runtime/util/message-of.ts';
import { agree, approvedBy } from './approvals.ts';
import { fateOf, lostOf } from './lost-payments.ts';
import { prepare, type TakeOverParts } from './take-over-plan.ts';
import { must } from '../../domain/values/must.ts';

/**
 * Payments that the signer signed and a restored event log lost: somebody names the payment to be recorded again, and
 * two approvers agree.
 */
export function takeOverCommands(parts: TakeOverParts): AdminCommands {
  return {
    'treasury.lost': async () => {
      const lost: JsonValue[] = [];
      for (const executor of parts.treasury().moves.executors) {
        const found = await lostOf(parts, executor);
        for (const payment of found.payments) lost.push(shown(payment, executor, await fateOf(parts, payment, found)));
      }
      return { lost };
    },
    'treasury.take-over': async (args) => {
      const txHash = requiredText(args, 'tx');
      const proposedBy = operatorIn(args);
      const reason = reasonInTerms(args);
      for (const executor of parts.treasury().moves.executors) {
        const lost = await lostOf(parts, executor);
        const payment = lost.payments.find((each) => each.txHash === txHash);
        if (!payment) continue;
        const [oldest] = lost.payments;
        if (oldest !== payment)
          return refused(`${must(oldest).txHash} was signed before it on ${payment.network}: take that one over first`);
        const fate = await fateOf(parts, payment, lost);
        if (fate.kind === 'alarm') return refused(`the chain contradicts the journal: ${fate.detail}`);
        if (fate.kind === 'pending' || (fate.kind === 'landed' && !fate.final))
          return refused('it is not final on chain yet: try again in a few minutes');
        const { write, requestedBy } = await prepare(parts, lost, payment, {
          ...{ proposedBy, reason, fate },
          session: optionalText(args, 'session') ?? null,
        });
        const { mode, network } = executor.chain;
        const agreed = await agree(
          parts.payouts.signer,
          [{ kind: 'take_over', mode, network, txHash, reason, proposedBy, requestedBy }],
          args,
        );
        if (!agreed.ok) return agreed.answer;
        if (!agreed.done) return { tx: txHash, ...approvedBy(agreed), status: 'waiting_for_approval' };
        await write(agreed.approvers).catch((error: unknown) => refused(`it was not taken over: ${messageOf(error)}`));
        return { ...shown(payment, executor, fate), ...approvedBy(agreed), status: 'taken_over' };
      }
      return refused('tx: no payment lost by this event log has this transaction');
    },
  };
}

const shown = (
  { kind, id, attempt, coin, amount, toAddress, txHash, signedAtSec }: SignedPayment,
  { chain }: MoveExecutor,
  fate: Fate,
) => ({
  mode: chain.mode,
  network: chain.network,
  kind,
  id,
  attempt,
  coin,
  amount,
  to_address: toAddress,
  tx: txHash,
  signed_at: signedAtSec,
  ...{ on_chain: fate.kind, block: fate.kind === 'landed' ? fate.landed.blockNumber : null },
});
