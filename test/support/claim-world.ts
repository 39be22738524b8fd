import { Wallet } from 'ethers';
import { nodeRandom } from '../../src/adapters/node/random.ts';
import { EVIDENCE_KINDS, type EvidenceKind } from '../../src/domain/claims.ts';
import type { SessionId, TransactionId } from '../../src/domain/values/ids.ts';
import type { Sender } from '../../src/domain/networks/senders.ts';
import { sessionStream } from '../../src/domain/values/streams.ts';
import { toSec } from '../../src/ports/clock.ts';
import { Sessions } from '../../src/features/sessions/sessions.ts';
import type { SessionHandler } from '../../src/features/shared/handlers/session-handler.ts';
import type { ClaimInput } from '../../src/features/shared/claim-views.ts';
import type { RefundInput } from '../../src/features/shared/merchant-api.ts';
import type { SessionCommand } from '../../state-machines/checkout-session/session.decider.ts';
import { caller, order, sessionWorld } from './session-world.ts';
import { depositFacts, depositConfirmed } from './session-facts.ts';

export const wallet = new Wallet(`0x${'11'.repeat(32)}`);
export const PAYEE = '0x90F79bf6EB2c4f870365E785982E1f101E93b906';
export const ANOTHER_SESSIONS = '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC';
export const EXCHANGE: Sender = { kind: 'exchange', name: 'Big Exchange' };

/** A cancelled session that was paid 10 afterwards. */
export async function claimWorld(
  from: string | null = wallet.address,
  refundClaims: readonly EvidenceKind[] = EVIDENCE_KINDS,
  accepted = EVIDENCE_KINDS as readonly EvidenceKind[],
) {
  const { deps, store } = sessionWorld({ policy: { refundClaims } });
  const kinds = new Map<string, Sender | null>();
  const api = new Sessions({
    ...deps,
    claims: { ...deps.claims, accepted },
    random: nodeRandom,
    sessionOfRefund: async () => null,
    onAddressesGiven: () => undefined,
    isOurs: (_mode, _network, address) => address === ANOTHER_SESSIONS,
    senders: {
      of: async (_mode, _network, address) =>
        kinds.has(address) ? kinds.get(address)! : { kind: 'wallet', name: null },
    },
    changes: { on: () => () => undefined },
  });
  const made = await api.createSession(caller, order);
  if (!made.ok) throw new Error(made.refusal.message);
  const { sessionId, paymentOptions } = made.value;
  const tell = tellerOf(deps.sessions, sessionId);
  let paid = 0;
  const pay = async (amount: string, fromAddress: string | null = from, sender?: Sender): Promise<TransactionId> => {
    const blockTimeSec = toSec(deps.clock.nowMs()) + (paid += 1);
    const facts = depositFacts({
      fromAddress,
      toAddress: paymentOptions[0]!.address,
      amount,
      txHash: `0x${paid}`,
      blockTimeSec,
    });
    await tell({ type: 'RecordDeposit', facts });
    const { data } = depositConfirmed(facts, sender && { sender });
    await tell({ type: 'ConfirmDeposit', data, nowSec: blockTimeSec, valuation: null });
    return (await api.viewSession(sessionId))!.deposits.at(-1)!.transactionId;
  };
  await tell({ type: 'CancelSession', nowSec: toSec(deps.clock.nowMs()) });
  const file = async (input: Partial<ClaimInput> & Pick<ClaimInput, 'transactionId' | 'evidence'>) => {
    const outcome = await api.fileClaim(sessionId, { payee: PAYEE, ...input });
    return outcome.ok ? outcome.value : outcome.refusal;
  };
  const sign = async (transactionId: TransactionId, by = wallet) => {
    const prepared = await api.prepareClaim(sessionId, { transactionId, payee: PAYEE, evidence: 'signature' });
    if (!prepared.ok) throw new Error(prepared.refusal.message);
    const { text, number } = prepared.value;
    return { transactionId, evidence: 'signature', number, signature: by.signMessageSync(text) } as const;
  };
  const refund = async (input: Partial<RefundInput>, key?: string) => {
    const outcome = await api.requestRefund(
      { ...caller, ...(key && { idempotencyKey: key }) },
      { sessionId, ...input },
    );
    return outcome.ok ? outcome.value : outcome.refusal;
  };
  const claims = async () => (await api.listClaims(caller, sessionId))!;
  return { api, store, sessionId, pay, file, sign, refund, kinds, claims };
}

/** Has a session take commands, each of which must be accepted. */
export const tellerOf =
  (sessions: Pick<SessionHandler, 'execute'>, sessionId: SessionId) =>
  async (command: SessionCommand): Promise<void> => {
    const context = { correlationId: 'test', actor: 'test', coCommits: [] };
    const result = await sessions.execute(sessionStream(sessionId), command, context);
    if (!result.ok) throw new Error(result.refusal.message);
  };
