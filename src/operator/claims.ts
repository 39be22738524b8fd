import { parseSessionId, type SessionId } from '../domain/ids.ts';
import type { ClaimView, PayerClaims } from '../features/shared/claim-views.ts';
import type { Outcome } from '../features/shared/merchant-api.ts';
import { actorOf } from './acts.ts';
import { json, refused, requiredText, type AdminArguments, type AdminCommands } from './commands.ts';

interface Claims extends Pick<PayerClaims, 'claimsOf'> {
  rejectClaimAs(actor: string, id: SessionId, claimId: string, reason: string): Promise<Outcome<ClaimView>>;
}

/**
 * The operators' view of claims, and their objection. Approval is up to the merchant, and to two approvers where only
 * people can judge.
 */
export function claimCommands(claims: Claims): AdminCommands {
  return {
    'claim.list': async (args) =>
      json({ claims: ((await claims.claimsOf(sessionIdOf(args))) ?? refused('no such session')).claims }),
    'claim.reject': async (args) => {
      const [id, claimId, reason] = [sessionIdOf(args), requiredText(args, 'claim_id'), requiredText(args, 'reason')];
      const outcome = await claims.rejectClaimAs(actorOf(args), id, claimId, reason);
      return outcome.ok ? json(outcome.value) : refused(outcome.refusal.message);
    },
  };
}

const sessionIdOf = (args: AdminArguments): SessionId =>
  parseSessionId(requiredText(args, 'session_id')) ?? refused('session_id is not a session id');
