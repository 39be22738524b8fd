import type { FinalityFloor } from '../../domain/finality-floor.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Random } from '../../ports/random.ts';
import type { WebhookUrlVetting } from '../../ports/webhook-sender.ts';
import type { Sealer } from '../../runtime/util/sealing.ts';
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
  /** Of what is due, the most that a merchant may let be missing. */
  readonly toleranceMaxPercent: number;
  /** Of live merchants who have no delay of their own. */
  readonly changeDelayMinutes: number;
}

/** Who changes a merchant: ends up in the events' metadata. Default: the operator. */
export interface ChangedBy {
  readonly actor: string;
  readonly correlationId: string;
}
