import { parseSessionId, type MerchantId, type Mode, type SessionId } from '../../domain/values/ids.ts';
import type { ClaimView, PayerClaims } from '../../features/shared/claim-views.ts';
import type { Caller, Outcome } from '../../features/shared/merchant-api.ts';
import { actorOf } from '../server/acts.ts';
import {
  accepted,
  json,
  merchantIn,
  refused,
  requiredText,
  type AdminArguments,
  type AdminCommands,
} from '../server/commands.ts';
import { limitOf } from '../server/whole-number.ts';

interface Claims extends Pick<PayerClaims, 'claimsOf'> {
  rejectClaimAs(actor: string, id: SessionId, claimId: string, reason: string): Promise<Outcome<ClaimView>>;
}

interface Merchants {
  /** Open claims, oldest first. */
  readonly waiting: (owner: Pick<Caller, 'merchantId' | 'mode'>, limit: number) => Promise<readonly ClaimView[]>;
  readonly modeOfMerchant: (id: MerchantId) => Mode | null;
}

/**
 * The operators' view of claims, and their objection. Approval is up to the merchant, and to two approvers where only
 * people can judge.
 */
export function claimCommands(claims: Claims, { waiting, modeOfMerchant }: Merchants): AdminCommands {
  return {
    'claim.list': async (args) =>
      json({ claims: ((await claims.claimsOf(sessionIdOf(args))) ?? refused('no such session')).claims }),
    'claim.waiting': async (args) => {
      const merchantId = merchantIn(args);
      const mode = modeOfMerchant(merchantId) ?? refused('merchant_id is not a merchant');
      return json({ claims: await waiting({ merchantId, mode }, limitOf(args)) });
    },
    'claim.reject': async (args) => {
      const [id, claimId, reason] = [sessionIdOf(args), requiredText(args, 'claim_id'), requiredText(args, 'reason')];
      return json(accepted(await claims.rejectClaimAs(actorOf(args), id, claimId, reason)));
    },
  };
}

const sessionIdOf = (args: AdminArguments): SessionId =>
  parseSessionId(requiredText(args, 'session_id')) ?? refused('session_id is not a session id');
