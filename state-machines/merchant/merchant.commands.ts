import type { KeyRestrictions } from '../../src/domain/api-keys.ts';
import type {
  ApiKeyIssued,
  Logo,
  MerchantPolicy,
  MerchantRegistered,
} from '../../src/domain/events/merchant-events.ts';
import type { ToleranceBounds } from '../../src/domain/money/tolerance.ts';
import type { FinalityFloor } from '../../src/domain/networks/finality-floor.ts';
import type { ApiKeyId } from '../../src/domain/values/ids.ts';
import type { Network } from '../../src/domain/networks/networks.ts';
import type { EndpointCommand, MayWait } from './endpoints.decider.ts';

/** The first endpoint; `sealedSecret` is its first secret. */
export interface FirstEndpoint {
  readonly endpointId: string;
  readonly url: string | null;
  readonly sealedSecret: string;
}

/** The operator's bounds for merchants' policies. */
export interface PolicyBounds {
  readonly floor: FinalityFloor;
  readonly tolerance: ToleranceBounds;
}

/* Commands: imperative, with ids, sealed secrets and times as data. */

export type MerchantCommand =
  | {
      readonly type: 'RegisterMerchant';
      readonly merchant: MerchantRegistered['data'];
      readonly key: ApiKeyIssued['data'];
      readonly endpoint: FirstEndpoint;
    }
  | { readonly type: 'IssueKey'; readonly key: ApiKeyIssued['data'] }
  /** Changes only the given fields. Addresses are well-formed. */
  | { readonly type: 'RestrictKey'; readonly keyId: ApiKeyId; readonly restrictions: Partial<KeyRestrictions> }
  | { readonly type: 'NoteKeyUse'; readonly keyId: ApiKeyId; readonly atSec: number }
  | { readonly type: 'RevokeKey'; readonly keyId: ApiKeyId }
  | EndpointCommand
  | ChangeCommand
  /** `host` in the form that URLs normalise to. */
  | { readonly type: 'AddDomain'; readonly domainId: string; readonly host: string; readonly shopName: string }
  | { readonly type: 'RemoveDomain'; readonly domainId: string }
  | (MayWait & PolicyBounds & { readonly type: 'SetPolicy'; readonly policy: Partial<MerchantPolicy> })
  /** Re-encoded by the service from the upload. */
  | { readonly type: 'SetLogo'; readonly logo: Logo | null }
  /** The signer's journal has the approvals of the named people. */
  | (MayWait & {
      readonly type: 'SetSettlementAddress';
      readonly network: Network;
      readonly address: string;
      readonly approvers: readonly string[];
    });

export type ChangeCommand =
  | (MayWait & { readonly type: 'SetChangeDelay'; readonly minutes: number | null })
  | { readonly type: 'WithdrawChange'; readonly changeId: string }
  /** The operator's bounds at the time when the change takes effect. */
  | (PolicyBounds & { readonly type: 'ApplyChange'; readonly changeId: string; readonly nowSec: number });
