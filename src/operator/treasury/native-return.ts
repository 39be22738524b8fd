import { nativeTransferKey, type NativeTransfer } from '../../domain/networks/deposit-proof.ts';
import type { MoveRequested } from '../../domain/events/treasury-move-events.ts';
import { amountOf, formatAmount, fitsDecimals, parseAmount } from '../../domain/money/money.ts';
import { addressFamilyOf, NATIVE_COIN, NATIVE_DECIMALS } from '../../domain/networks/networks.ts';
import { needsAcknowledgement } from '../../domain/networks/senders.ts';
import { sessionStream } from '../../domain/values/streams.ts';
import { toSec } from '../../ports/clock.ts';
import { NOTHING_RESERVED, TransferImpossible } from '../../ports/outgoing/transaction.ts';
import type { SeenNativeTransfer } from '../../ports/outgoing/signer.ts';
import { indexKey } from '../../features/addresses/address-index.ts';
import { orderOf } from '../../features/payouts/moves/order.ts';
import type { MoveExecutor } from '../../features/payouts/moves/records.ts';
import { newMoveId } from '../../features/payouts/moves/ids.ts';
import { optionalText, refused, requiredText, type AdminArguments, type AdminCommands } from '../server/commands.ts';
import { TX_HASH } from '../chains/record-transfer.ts';
import { proposerOf } from '../server/acts.ts';
import { executorFor, type CommandParts } from './arguments.ts';
import { must } from '../../domain/values/must.ts';

/** Returns native coin that arrived at a collection address to its sender. */
export function nativeReturnCommands(parts: CommandParts): AdminCommands {
  return {
    'treasury.return': async (args) => {
      const executor = executorFor(parts, args);
      const requestedBy = proposerOf(args);
      const reason = requiredText(args, 'reason');
      const transfer = await transferOf(parts, executor, args);
      const paidBack = (await executor.context()).nativeReturns[nativeTransferKey(transfer)];
      if (paidBack !== undefined) return refused(`tx: the transfer is returned by ${paidBack}`);
      const seen = await seenBySigner(parts, executor, transfer);
      await assertReachable(parts, executor, seen.fromAddress, args);
      const { mode, network } = executor.chain;
      const shared = { moveId: newMoveId('native_return', parts.random), mode, network, coin: NATIVE_COIN[network] };
      const ends = {
        fromAddress: executor.treasury,
        toAddress: seen.fromAddress,
        derivationIndex: null,
        merchantId: null,
        forMoveId: null,
      };
      const terms = { ...shared, ...ends, transfer, requestedBy, reason, requestedAtSec: toSec(parts.clock.nowMs()) };
      const amount = await amountFor(executor, { ...terms, amount: seen.amount }, args);
      return propose(parts, executor, { ...terms, amount });
    },
  };
}

/** The derivation index is the one that the session recorded; the signer derives the address anew. */
async function transferOf(
  { core, givenAddress }: CommandParts,
  { chain }: MoveExecutor,
  args: AdminArguments,
): Promise<NativeTransfer> {
  const { mode, network } = chain;
  const text = requiredText(args, 'tx');
  if (!TX_HASH[network].test(text)) refused(`tx is not a transaction of ${network}`);
  const txHash = network === 'solana' ? text : text.toLowerCase();
  const address =
    givenAddress(network, requiredText(args, 'address')) ?? refused(`address is not an address on ${network}`);
  const family = addressFamilyOf(network);
  await core.addressesComplete();
  const sessionId = core.addressIndexes.get(indexKey(mode, family))?.sessionOf(address);
  const created = sessionId && (await core.sessionHandler.read(sessionStream(sessionId)))?.context.created;
  const option = created && created.paymentOptions.find((candidate) => addressFamilyOf(candidate.network) === family);
  if (!option) return refused('address: it was not assigned to any session');
  return { txHash, toAddress: address, derivationIndex: option.derivationIndex };
}

async function seenBySigner(
  { payouts }: CommandParts,
  { chain: { mode, network } }: MoveExecutor,
  { txHash, toAddress }: NativeTransfer,
): Promise<SeenNativeTransfer & { readonly fromAddress: string }> {
  const answer = await payouts.signer.nativeTransfer({ mode, network, txHash, toAddress });
  if (!('transfer' in answer)) return refused(answer.message);
  const { transfer } = answer;
  if (transfer === null)
    return refused(
      `tx: the transaction itself sent no ${NATIVE_COIN[network]} to ${toAddress}, or is not in the chain`,
    );
  const { fromAddress } = transfer;
  if (fromAddress === null) return refused('tx: the chain names no single sender to return it to');
  return transfer.final ? { ...transfer, fromAddress } : refused('tx: the transfer is not final yet');
}

async function assertReachable(
  { core }: CommandParts,
  { chain: { mode, network } }: MoveExecutor,
  address: string,
  args: AdminArguments,
): Promise<void> {
  if (args['acknowledgeSender'] === true || args['acknowledge_sender'] === true) return;
  const sender = await core.senders.of(mode, network, address);
  if (needsAcknowledgement(sender))
    refused(
      `it came from ${sender.name ?? `a ${sender.kind}`}, where its owner may not receive it: acknowledge_sender (--acknowledge-sender) if they can`,
    );
}

/** The received amount less the highest possible fee: nothing is added to it. */
async function amountFor({ chain }: MoveExecutor, whole: MoveRequested, args: AdminArguments): Promise<string> {
  const coin = NATIVE_COIN[chain.network];
  const given = optionalText(args, 'amount');
  if (given !== undefined) {
    const units = parseAmount(given) ?? 0n;
    if (units <= 0n || !fitsDecimals(units, NATIVE_DECIMALS[chain.network]))
      return refused(
        `amount must be a decimal amount of ${coin} above zero with at most ${NATIVE_DECIMALS[chain.network]} decimals`,
      );
    return formatAmount(units);
  }
  const fee = await chain.returnFee(orderOf({ kind: 'native_return', terms: whole }));
  const left = amountOf(whole.amount) - fee;
  return left > 0n
    ? formatAmount(left)
    : refused(`${whole.amount} ${coin} came, and the fee of the return may take ${formatAmount(fee)}`);
}

/** Writes nothing when the signer would never sign it. */
async function propose({ payouts }: CommandParts, executor: MoveExecutor, data: MoveRequested) {
  const order = orderOf({ kind: 'native_return', terms: data });
  try {
    await executor.chain.check(order, NOTHING_RESERVED);
  } catch (error) {
    if (error instanceof TransferImpossible) return refused(`amount: ${error.message}`);
    throw error;
  }
  const verdict = await payouts.signer.check(order);
  if (!verdict.ok && verdict.code === 'exceeds_account')
    return refused(
      `${verdict.message}; comparing the books with the chain (\`quittance treasury reconcile\`) records what arrived since`,
    );
  if (!verdict.ok && verdict.code !== 'approval') return refused(verdict.message);
  const fault = await executor.tell({ type: 'RequestMove', kind: 'native_return', data }, data.requestedBy);
  if (fault !== null) return refused(fault);
  const { moveId: id, coin, amount, toAddress, transfer } = data;
  return {
    id,
    kind: 'native_return',
    coin,
    amount,
    to_address: toAddress,
    tx: must(transfer).txHash,
    status: 'waiting_for_approval',
  };
}
