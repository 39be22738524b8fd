import {
  type AdminArguments,
  type AdminCommands,
  optionalText,
  refused,
  merchantIn,
  requiredText,
} from '../server/commands.ts';
import { destinationOf, executorFor, moneyOf, type CommandParts } from './arguments.ts';
import { isOwed, type MoveRequested } from '../../domain/events/treasury-move-events.ts';
import { addressFamilyOf } from '../../domain/networks/networks.ts';
import { isNobodys } from '../../domain/networks/nobodys-address.ts';
import { merchantStream } from '../../domain/values/streams.ts';
import { toSec } from '../../ports/clock.ts';
import type { JsonValue } from '../../ports/read-model/read-model.ts';
import { indexKey } from '../../features/addresses/address-index.ts';
import { orderOf } from '../../features/payouts/moves/order.ts';
import type { MoveExecutor } from '../../features/payouts/moves/records.ts';
import { isMoveId, isOutwardMoveId, newMoveId } from '../../features/payouts/moves/ids.ts';
import { Mailboxes } from '../../runtime/commands/mailboxes.ts';
import { actorOf, operatorIn } from '../server/acts.ts';
import { agree, approvedBy } from './approvals.ts';
import { must } from '../../domain/values/must.ts';

/* Money that leaves the treasury: proposed by one, approved by others. */

/** Mailboxes kept for merchants that settle at the same time; idle ones hold no state. */
const MERCHANTS_IN_TURN = 2;

export function outwardCommands(parts: CommandParts): AdminCommands {
  const { treasury, payouts, ofRefunds } = parts;
  /** One settlement at a time per merchant: two at once would both count the same money. */
  const settlements = new Mailboxes<null>(MERCHANTS_IN_TURN);
  const executorOf = async (id: string): Promise<MoveExecutor> => {
    for (const executor of treasury().moves.executors) if ((await executor.context()).moves[id]) return executor;
    return refused('no such withdrawal or settlement, or it is done');
  };
  return {
    'treasury.withdraw': async (args) => {
      const executor = executorFor(parts, args);
      const to = destinationOf(parts, executor.chain.network, args);
      return propose(parts, args, executor, 'withdrawal', { toAddress: to, merchantId: null });
    },
    'treasury.settle': async (args) => {
      const merchantId = merchantIn(args);
      const merchant = (await parts.core.merchantHandler.read(merchantStream(merchantId)))?.context;
      const mode = merchant?.registered?.mode ?? refused('no such merchant');
      const executor = executorFor(parts, { ...args, mode });
      const { network } = executor.chain;
      const toAddress =
        merchant?.settlementAddresses[network] ?? refused(`the merchant has no settlement address on ${network}`);
      return settlements.run(merchantId, () => propose(parts, args, executor, 'settlement', { toAddress, merchantId }));
    },
    'treasury.approve': async (args) => {
      const id = requiredText(args, 'id');
      if (!isOutwardMoveId(id)) return must(ofRefunds['treasury.approve'])({ ...args, refund_id: id });
      const executor = await executorOf(id);
      const move = must((await executor.context()).moves[id]);
      // Refunds and reorganisations since the proposal may have used up the money.
      if (isOwed(move.kind) && move.kind !== 'return') {
        const verdict = await payouts.signer.check(orderOf(move));
        if (!verdict.ok && concernsAccounts(verdict.code)) refused(verdict.message);
      }
      const agreed = await agree(
        payouts.signer,
        [{ kind: 'transaction', order: orderOf(move), proposedBy: move.terms.requestedBy }],
        args,
      );
      if (!agreed.ok) return agreed.answer;
      for (const approver of agreed.approvers) {
        const fault = await executor.tell(
          { type: 'ApproveMove', moveId: id, approver, nowSec: toSec(parts.clock.nowMs()) },
          approver,
        );
        if (fault !== null) refused(fault);
      }
      treasury().moves.wake(executor);
      return { id, ...approvedBy(agreed) };
    },
    'treasury.reject': async (args) => {
      const id = requiredText(args, 'id');
      if (!isMoveId(id)) return must(ofRefunds['treasury.reject'])({ ...args, refund_id: id });
      const executor = await executorOf(id);
      const nowSec = toSec(parts.clock.nowMs());
      const facts = {
        reason: 'rejected_by_operator',
        txHash: null,
        networkFee: null,
        feeAddress: executor.treasury,
        nowSec,
      } as const;
      const move = must((await executor.context()).moves[id]);
      if (move.kind === 'return') refused('a return is undone with its transfer (`quittance inbox undo`)');
      const lost = await executor.interventions.lostSignature(id);
      if (lost !== null) refused(lost);
      const fault = await executor.tell({ type: 'FailMove', moveId: id, ...facts }, actorOf(args));
      if (fault !== null) refused(fault);
      return { rejected: id };
    },
  };
}

/** Writes nothing when the signer would never sign it. */
async function propose(
  { payouts, clock, random }: CommandParts,
  args: AdminArguments,
  executor: MoveExecutor,
  kind: 'withdrawal' | 'settlement',
  { toAddress, merchantId }: Pick<MoveRequested, 'toAddress' | 'merchantId'>,
): Promise<JsonValue> {
  const requestedBy = operatorIn(args);
  const { coin, amount } = moneyOf(executor, args);
  const data: MoveRequested = {
    moveId: newMoveId(kind, random),
    mode: executor.chain.mode,
    network: executor.chain.network,
    coin,
    amount,
    fromAddress: executor.treasury,
    toAddress,
    derivationIndex: null,
    merchantId,
    forMoveId: null,
    requestedBy,
    reason: optionalText(args, 'reason') ?? null,
    requestedAtSec: toSec(clock.nowMs()),
  };
  const verdict = await payouts.signer.check(orderOf({ kind, terms: data }));
  if (!verdict.ok && verdict.code !== 'approval') refused(verdict.message);
  const fault = await executor.tell({ type: 'RequestMove', kind, data }, requestedBy);
  if (fault !== null) refused(fault);
  return { id: data.moveId, kind, coin, amount, to_address: toAddress, status: 'waiting_for_approval' };
}

/**
 * Concerns the merchant's account, or what is owed to unknown senders; the signer computes both from the event log
 * itself.
 */
const concernsAccounts = (code: string): boolean =>
  code === 'exceeds_account' || code === 'ledger_behind' || code === 'ledger_disagrees';

/** Whoever copies an address may copy a wrong one; two approvers would compare it with the same copy. */
async function merchantsAddress(
  { core, givenAddress }: CommandParts,
  { chain: { mode, network, settings }, treasury }: MoveExecutor,
  args: AdminArguments,
): Promise<string> {
  const address =
    givenAddress(network, requiredText(args, 'address')) ?? refused(`address is not an address on ${network}`);
  if (isNobodys(network, address)) refused('address is an address without a key');
  if (settings.tokens.some((token) => token.address === address)) refused('address is the contract of a coin');
  await core.addressesComplete();
  const collection = core.addressIndexes.get(indexKey(mode, addressFamilyOf(network)));
  return address === treasury || collection?.isOurs(address)
    ? refused('address is an address of this service')
    : address;
}

export function destinationCommands(parts: CommandParts): AdminCommands {
  const { payouts, core } = parts;
  return {
    'merchant.settlement-address': async (args) => {
      const merchantId = merchantIn(args);
      const mode =
        (await core.merchantHandler.read(merchantStream(merchantId)))?.context.registered?.mode ??
        refused('no such merchant');
      const executor = executorFor(parts, { ...args, mode });
      const { network } = executor.chain;
      const address = await merchantsAddress(parts, executor, args);
      const operator = operatorIn(args, 'operator');
      const destination = { mode, network, merchantId, address };
      const agreed = await agree(
        payouts.signer,
        [{ kind: 'settlement_address', destination, proposedBy: operator }],
        args,
      );
      if (!agreed.ok) return agreed.answer;
      const { approvers } = agreed;
      if (!agreed.done)
        return { merchant_id: merchantId, network, address, ...approvedBy(agreed), status: 'waiting_for_approval' };
      const set = await core.merchants.setSettlementAddress(
        merchantId,
        { network, address, approvers },
        { correlationId: address, actor: operator },
      );
      if (!set.ok) return refused(set.refusal.message);
      const waiting = set.value.pending_changes.find(
        ({ change }) => change['network'] === network && change['address'] === address,
      );
      return {
        merchant_id: merchantId,
        network,
        address,
        ...approvedBy(agreed),
        status: waiting ? 'waiting' : 'set',
        takes_effect_at: waiting?.takes_effect_at ?? null,
      };
    },
  };
}
