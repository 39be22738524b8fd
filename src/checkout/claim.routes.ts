import type { Request, Response, Router } from 'express';
import { MAX_TEST_COINS, isEvidenceKind } from '../domain/claims.ts';
import { parseTransactionId } from '../domain/values/ids.ts';
import type { Refusal } from '../domain/values/result.ts';
import type { Clock } from '../ports/clock.ts';
import type { LocalRateLimiter } from '../ports/rate-limiter.ts';
import type { ClaimInput, PayerClaims, PayersClaims } from '../features/shared/claim-views.ts';
import type { Outcome } from '../features/shared/merchant-api.ts';
import type { SessionView } from '../features/shared/views.ts';
import { sendCompressed } from './assets.ts';
import { renderClaimPage, renderClaimToSend, type ClaimForm, type ClaimProblem } from './claim.ts';
import { formField, readForm } from './form.ts';
import { pageHeaders } from './page/headers.ts';
import type { PageInput } from './page/input.ts';

export interface ClaimPages {
  readonly api: PayerClaims;
  /** Per payment: each attempt asks the network about the payee. */
  readonly limiter: LocalRateLimiter;
}

interface Tools {
  readonly deps: { readonly clock: Clock };
  readonly found: (request: Request, response: Response) => Promise<SessionView | null>;
  readonly notFound: (request: Request, response: Response) => void;
  readonly inputOf: (session: SessionView, request: Request) => PageInput;
}

const MAX_BODY_BYTES = 8 * 1024;
const MAX_REASON = 500;
/** Longer than any address, number or signature. */
const MAX_FIELD = 400;
const STATUS: Readonly<Record<ClaimProblem, number>> = {
  claim_bad_payee: 400,
  claim_bad_signature: 400,
  claim_gone: 409,
  claim_limited: 429,
  claim_busy: 503,
};

/** `/pay/<id>/claim`: the payer names another address for a refund and proves the payment. Works without a script. */
export function claimRoutes(
  router: Router,
  { api, limiter }: ClaimPages,
  { deps, found, notFound, inputOf }: Tools,
): void {
  const headers = pageHeaders({ forms: true, frameAncestors: [] });

  const send = (request: Request, response: Response, input: PageInput, page: string, problem?: ClaimProblem): void => {
    response.status(problem ? STATUS[problem] : 200).set(headers);
    response.set('Content-Language', input.speech.language.code).type('html').vary('Accept-Language');
    sendCompressed(request, response, page);
  };

  /** Null where the shop accepts no claims; the answer has then been sent. */
  const opened = async (
    request: Request,
    response: Response,
  ): Promise<{ readonly input: PageInput; readonly claims: PayersClaims } | null> => {
    const session = await found(request, response);
    if (!session) return null;
    const claims = await api.claimsOf(session.sessionId);
    if (claims && (claims.accepted.length > 0 || claims.claims.length > 0))
      return { input: inputOf(session, request), claims };
    notFound(request, response);
    return null;
  };

  router.get('/pay/:id/claim', async (request, response) => {
    const page = await opened(request, response);
    if (page) send(request, response, page.input, renderClaimPage(page.input, page.claims));
  });

  router.post('/pay/:id/claim', readForm(MAX_BODY_BYTES), async (request, response) => {
    const page = await opened(request, response);
    if (!page) return;
    const { input, claims } = page;
    const form = formOf(request);
    const refused = (problem: ClaimProblem): void =>
      send(request, response, input, renderClaimPage(input, claims, { form, problem }), problem);
    const { allowed, retryAfterSec } = limiter.take(input.session.sessionId, deps.clock.nowMs());
    if (!allowed) {
      response.set('Retry-After', String(retryAfterSec));
      return refused('claim_limited');
    }
    const asked = claimOf(form);
    if (asked === null) return refused('claim_gone');
    const prepared = await api.prepareClaim(input.session.sessionId, asked);
    if (!prepared.ok) return refused(problemOf(prepared));
    const toSend = (problem?: ClaimProblem): void =>
      send(
        request,
        response,
        input,
        renderClaimToSend(
          input,
          prepared.value,
          { ...form, atLeast: String(wholeCoins(form.atLeast)) },
          problem ?? null,
        ),
        problem,
      );
    if (form.step !== 'send') return toSend();
    const filed = await api.fileClaim(input.session.sessionId, asked);
    if (filed.ok)
      return response
        .set(headers)
        .redirect(303, `/pay/${input.session.sessionId}/claim?lang=${input.speech.language.code}`);
    const problem = problemOf(filed);
    // The signature is kept in the form, so that it can be sent again.
    return problem === 'claim_bad_signature' || problem === 'claim_busy' ? toSend(problem) : refused(problem);
  });
}

/**
 * The payer's input, limited to the size of a test payment; the page shows the resulting amount before anything is
 * sent.
 */
const wholeCoins = (text: string): number =>
  Math.min(MAX_TEST_COINS, Math.max(1, Math.ceil(Number(text.replace(',', '.'))) || 1));

/** The payer's input, provided that it is text of a reasonable length. */
function formOf(request: Request): ClaimForm {
  const text = (name: string, max = MAX_FIELD): string => {
    const value = formField(request, name) ?? '';
    return value.length <= max ? value.trim() : '';
  };
  const fields = {
    transactionId: text('transaction_id'),
    evidence: text('evidence'),
    payee: text('payee'),
    number: text('number'),
  };
  return {
    ...fields,
    step: text('step'),
    signature: text('signature'),
    atLeast: text('at_least'),
    reason: text('reason', 2 * MAX_REASON).slice(0, MAX_REASON),
  };
}

function claimOf({ evidence, payee, number, signature, reason, atLeast, ...form }: ClaimForm): ClaimInput | null {
  const transactionId = parseTransactionId(form.transactionId);
  if (transactionId === null || !isEvidenceKind(evidence)) return null;
  const proof = {
    ...(evidence === 'signature' && { signature }),
    ...(evidence === 'test_payment' && { testAtLeast: wholeCoins(atLeast) }),
  };
  return {
    transactionId,
    evidence,
    payee,
    ...(number !== '' && { number }),
    ...proof,
    ...(reason !== '' && { reason }),
  };
}

/** The same words for every impossible payee: a stranger learns nothing about whose address it is. */
function problemOf({ refusal }: Extract<Outcome<never>, { ok: false }>): ClaimProblem {
  const { code, param }: Refusal = refusal;
  if (code === 'service_unavailable') return 'claim_busy';
  if (param === 'payee') return 'claim_bad_payee';
  return param === 'signature' ? 'claim_bad_signature' : 'claim_gone';
}
