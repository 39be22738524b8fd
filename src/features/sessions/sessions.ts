import { refuse } from '../../domain/values/result.ts';
import { contactLink } from '../../domain/contact.ts';
import { addressFamilyOf } from '../../domain/networks/networks.ts';
import {
  base32,
  parseRefundId,
  parseSessionId,
  type Mode,
  type RefundId,
  type SessionId,
} from '../../domain/values/ids.ts';
import { sessionStream } from '../../domain/values/streams.ts';
import { toSec } from '../../ports/clock.ts';
import type { Senders } from '../../ports/chain/senders.ts';
import type { SessionState } from '../../../state-machines/checkout-session/session.decider.ts';
import { currentOrOlderId, successorOf } from './attempts.ts';
import { createSession, personalOf, type CreateSessionDeps } from './create.ts';
import {
  actorOf,
  type Caller,
  type CreateSessionInput,
  type MerchantApi,
  type Outcome,
  type PayerApi,
  type RefundInput,
  type ShopFacts,
  type Reader,
} from '../shared/merchant-api.ts';
import { previewRefund, type RefundPreview } from './refunds/preview.ts';
import { requestRefund } from './refunds/request.ts';
import { refundView, sessionView } from './view.ts';
import type { RefundView, SessionView } from '../shared/views.ts';
import { must } from '../../domain/values/must.ts';
import { createdOf } from '../../../state-machines/checkout-session/session.state.ts';

export interface SessionsDeps extends CreateSessionDeps {
  readonly senders: Senders;
  /** The session of a refund, from the read model; null if unknown. */
  readonly sessionOfRefund: (id: RefundId) => Promise<SessionId | null>;
  /** Notifies of changes to a session; see `PayerApi.onChange`. */
  readonly changes: { on(id: SessionId, listener: () => void): () => void };
  /** Called with every address of a new session before the caller receives it. */
  readonly onAddressesGiven: (
    mode: Mode,
    id: SessionId,
    addresses: readonly { family: ReturnType<typeof addressFamilyOf>; address: string }[],
  ) => void;
}

/** Sessions and their refunds, for the merchant who owns them and the payer who has the link. */
export class Sessions implements MerchantApi, PayerApi {
  readonly #deps: SessionsDeps;

  constructor(deps: SessionsDeps) {
    this.#deps = deps;
  }

  async createSession(caller: Caller, input: CreateSessionInput): Promise<Outcome<SessionView>> {
    const created = await createSession(this.#deps, caller, input);
    if (!created.ok) return created;
    const facts = createdOf(created.value.context);
    const addresses = new Map(
      facts.paymentOptions.map((option) => [
        option.address,
        { family: addressFamilyOf(option.network), address: option.address },
      ]),
    );
    this.#deps.onAddressesGiven(facts.mode, facts.sessionId, [...addresses.values()]);
    const view = created.repeated
      ? await this.#view(created.value)
      : sessionView(created.value, facts.personal === null ? null : personalOf(input));
    return { ok: true, value: view, repeated: created.repeated ?? false };
  }

  async getSession(reader: Reader, id: SessionId): Promise<SessionView | null> {
    const state = await this.#own(reader, id);
    return state && this.#view(state);
  }

  /** The first attempt of an order; null if there is none. */
  async sessionOfOrder(
    reader: Reader,
    orderId: string,
  ): Promise<{ readonly sessionId: SessionId; readonly status: SessionState['value'] } | null> {
    const { merchantId, mode } = reader;
    const id = await currentOrOlderId(this.#deps, { mode, merchantId, orderId, supersedes: null });
    const state = await this.#own(reader, id);
    return state && { sessionId: id, status: state.value };
  }

  async cancelSession(caller: Caller, id: SessionId): Promise<Outcome<SessionView>> {
    if (!(await this.#own(caller, id))) return notFound;
    const admission = await this.#deps.idempotency.admit(caller, 'cancel', id, () => '');
    if (!admission.ok) return admission;
    const command = { type: 'CancelSession', nowSec: toSec(this.#deps.clock.nowMs()) } as const;
    const result = await this.#deps.sessions.execute(sessionStream(id), command, commandContext(caller));
    if (result.ok) return { ok: true, value: await this.#view(result.state) };
    // The key was admitted before, so the first request may have cancelled without the caller receiving the answer.
    if (admission.repeated && result.state.value === 'cancelled')
      return { ok: true, value: await this.#view(result.state), repeated: true };
    return result;
  }

  /** Time travel in the sandbox. Returns the new deadline; unchanged if it would not be earlier. */
  async moveDeadline(
    id: SessionId,
    expiresAtSec: number,
    by: { readonly correlationId: string; readonly actor: string },
  ): Promise<Outcome<number>> {
    const command = { type: 'MoveDeadline', expiresAtSec, nowSec: toSec(this.#deps.clock.nowMs()) } as const;
    const result = await this.#deps.sessions.execute(sessionStream(id), command, by);
    return result.ok ? { ok: true, value: result.state.context.expiresAtSec } : result;
  }

  async requestRefund(caller: Caller, input: RefundInput): Promise<Outcome<RefundView>> {
    const state = await this.#own(caller, input.sessionId);
    if (!state) return notFound;
    const deps = { ...this.#deps, newRefundId: () => must(parseRefundId(`re_${base32(this.#deps.random.bytes(16))}`)) };
    const result = await requestRefund(deps, caller, input, state);
    if (!result.ok) return result;
    const { state: after, refundId } = result.value;
    return { ok: true, value: await this.#refund(after, refundId), repeated: result.repeated ?? false };
  }

  /** What a refund would pay, and to whom. */
  async previewRefund(reader: Reader, input: RefundInput): Promise<Outcome<RefundPreview>> {
    const state = await this.#own(reader, input.sessionId);
    return state ? previewRefund(this.#deps, input, state) : notFound;
  }

  async getRefund(reader: Reader, id: RefundId): Promise<RefundView | null> {
    const sessionId = await this.#deps.sessionOfRefund(id);
    const state = sessionId && (await this.#own(reader, sessionId));
    return state?.context.refunds[id] ? this.#refund(state, id) : null;
  }

  async viewSession(id: SessionId): Promise<SessionView | null> {
    const state = await this.#deps.sessions.read(sessionStream(id));
    return state && this.#view(state);
  }

  onChange(id: SessionId, listener: () => void): () => void {
    return this.#deps.changes.on(id, listener);
  }

  shopOf({ merchantId, domainId }: Pick<SessionView, 'merchantId' | 'domainId'>): ShopFacts {
    const merchant = this.#deps.merchants.settings(merchantId);
    const domain = merchant?.domains.find((candidate) => candidate.domainId === domainId);
    const contact = contactLink(merchant?.policy.contact ?? '');
    return {
      name: domain?.shopName ?? merchant?.name ?? '',
      host: domain?.host ?? null,
      contact,
      logo: merchant?.logo ?? null,
    };
  }

  async #own(reader: Reader, id: SessionId): Promise<SessionState | null> {
    const state = await this.#deps.sessions.read(sessionStream(id));
    const created = state?.context.created;
    return created && created.merchantId === reader.merchantId && created.mode === reader.mode ? state : null;
  }

  async #view(state: SessionState): Promise<SessionView> {
    const created = createdOf(state.context);
    const id = must(parseSessionId(created.sessionId));
    const personal = created.personal === null ? null : await this.#deps.personal.open(id, created.personal);
    const reasons = new Map<string, string>();
    for (const refund of Object.values(state.context.refunds)) {
      const reason = await this.#deps.personal.openText(id, refund.requested.reason);
      if (reason !== null) reasons.set(refund.requested.refundId, reason);
    }
    return sessionView(state, personal, reasons, await successorOf(this.#deps, state));
  }

  async #refund(state: SessionState, refundId: RefundId): Promise<RefundView> {
    const refund = must(state.context.refunds[refundId]);
    const reason = await this.#deps.personal.openText(createdOf(state.context).sessionId, refund.requested.reason);
    return refundView(state.context, refund, reason);
  }
}

const notFound = refuse('not_found', 'no such resource');

/** The command metadata of a merchant's request. */
function commandContext(caller: Caller) {
  return {
    correlationId: caller.requestId,
    actor: actorOf(caller),
    coCommits: caller.nonceCoCommit === undefined ? [] : [caller.nonceCoCommit],
    ...(caller.traceParent !== undefined && { traceParent: caller.traceParent }),
  };
}
