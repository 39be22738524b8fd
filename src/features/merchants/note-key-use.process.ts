import { merchantStream } from '../../domain/values/streams.ts';
import type { MerchantHandler } from '../shared/handlers/merchant-handler.ts';
import type { MerchantDirectory } from './directory.ts';
import { InTurn } from '../../runtime/util/in-turn.ts';

const DAY_SEC = 86_400;
const EVERY_MS = 60_000;

/** Records the day of each key's last use outside the request path. A crash loses at most the current day. */
export class NoteKeyUse {
  readonly #directory: Pick<MerchantDirectory, 'usesHere'>;
  readonly #merchants: Pick<MerchantHandler, 'execute'>;
  readonly #onError: (error: unknown) => void;
  /** Last recorded day, by key. */
  readonly #noted = new Map<string, number>();
  readonly #timer: NodeJS.Timeout;
  readonly #turns = new InTurn();

  constructor(
    directory: Pick<MerchantDirectory, 'usesHere'>,
    merchants: Pick<MerchantHandler, 'execute'>,
    onError: (error: unknown) => void,
  ) {
    this.#directory = directory;
    this.#merchants = merchants;
    this.#onError = onError;
    this.#timer = setInterval(() => {
      this.#turns.run(() => this.now()).catch(this.#onError);
    }, EVERY_MS);
    this.#timer.unref();
  }

  async now(): Promise<void> {
    for (const { key, atSec } of this.#directory.usesHere()) {
      const day = Math.floor(atSec / DAY_SEC);
      if (this.#noted.get(key.keyId) === day) continue;
      const context = { correlationId: key.keyId, actor: 'key-use' };
      await this.#merchants.execute(
        merchantStream(key.merchantId),
        { type: 'NoteKeyUse', keyId: key.keyId, atSec },
        context,
      );
      this.#noted.set(key.keyId, day);
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#turns.ended();
  }
}
