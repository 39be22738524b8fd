import type { MerchantPolicy } from '../../domain/events/merchant-events.ts';
import type { MerchantId, Mode } from '../../domain/values/ids.ts';
import type { ShownLogo } from '../shared/merchant-api.ts';

export interface MerchantDomain {
  readonly domainId: string;
  readonly host: string;
  readonly shopName: string;
}

/** A merchant's settings as sessions need them. */
export interface MerchantSettings {
  readonly merchantId: MerchantId;
  readonly name: string;
  readonly mode: Mode;
  readonly policy: MerchantPolicy;
  readonly domains: readonly MerchantDomain[];
  readonly logo: ShownLogo | null;
}

export interface MerchantLookup {
  settings(merchantId: MerchantId): MerchantSettings | null;
}
