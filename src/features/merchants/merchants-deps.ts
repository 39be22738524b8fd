import type { ToleranceBounds } from '../../domain/money/tolerance.ts';
import type { FinalityFloor } from '../../domain/networks/finality-floor.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Random } from '../../ports/random.ts';
import type { WebhookUrlVetting } from '../../ports/webhooks/sender.ts';
import type { Sealer } from '../../runtime/cryptography/sealing.ts';
import type { MerchantHandler } from '../shared/handlers/merchant-handler.ts';
import type { MerchantDirectory } from './directory.ts';

export interface MerchantsDeps {
  readonly handler: MerchantHandler;
  readonly directory: MerchantDirectory;
  readonly sealer: Sealer;
  readonly random: Random;
  readonly clock: Clock;
  readonly vetWebhookUrl: WebhookUrlVetting;
  readonly finalityFloor: FinalityFloor;
  /** Largest tolerance that a merchant may set, as a percentage of what is due. */
  readonly toleranceBounds: ToleranceBounds;
  /** For live merchants without a delay of their own. */
  readonly changeDelayMinutes: number;
}

/** Who changes a merchant, as recorded in the events' metadata. */
export interface ChangedBy {
  readonly actor: string;
  readonly correlationId: string;
}
