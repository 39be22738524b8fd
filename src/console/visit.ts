import type { MerchantId, Mode } from '../domain/ids.ts';
import type { SignedInPerson } from '../features/people/people.ts';
import type { Html } from '../runtime/util/html.ts';
import type { Action } from './access.ts';

/** A merchant as pages name it. */
export interface ShownMerchant {
  readonly id: MerchantId;
  readonly name: string;
  readonly mode: Mode;
}

/** One request of a signed-in person, after every check. */
export interface Visit {
  readonly person: SignedInPerson;
  readonly requestId: string;
  readonly path: string;
  /** Parts of the path. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** Fields of the form; empty for what is only read. */
  readonly form: Readonly<Record<string, string>>;
  /** Of the path; null on pages of the whole service. */
  readonly merchant: ShownMerchant | null;
  /** Lists show what is of this mode alone. */
  readonly mode: Mode;
  /** For forms. */
  readonly csrf: string;
  /** IANA name; times are shown in it beside UTC. */
  readonly zone: string;
  readonly nowSec: number;
  can(action: Action, merchantId?: MerchantId): boolean;
}

/** The merchant whose pages these are. Throws `Refused`. */
export function merchantOf({ merchant }: Visit): ShownMerchant {
  if (merchant === null) throw NO_SUCH();
  return merchant;
}

/** Part of the path. Throws `Refused`. */
export function paramOf({ params }: Visit, name: string): string {
  const value = params[name];
  if (value === undefined) throw NO_SUCH();
  return value;
}

export interface Page {
  readonly title: string;
  readonly body: Html;
  /** Where it is not that of the visit. */
  readonly mode?: Mode;
  readonly status?: number;
  /** Renews itself while it is open: for what others change meanwhile, and costs no more to show than a list. */
  readonly isLive?: boolean;
  /** Scripts beside the one of the passkeys. */
  readonly scripts?: readonly string[];
}

export interface File {
  readonly name: string;
  readonly contentType: string;
  readonly chunks: AsyncIterable<string | Uint8Array> | Iterable<string>;
}

export type Shown =
  | { readonly page: Page }
  | { readonly file: File }
  | { readonly to: string; readonly cookie?: string };

/** A change that cannot be made; the message names the field. */
export class Refused extends Error {
  override readonly name = 'Refused';
  readonly status: number;

  constructor(message: string, status = 400) {
    super(message);
    this.status = status;
  }
}

export const NO_SUCH = (): Refused => new Refused('This page does not exist, or you may not see it.', 404);

/** What is only read. */
export interface ReadRoute<Visiting extends Visit = Visit> {
  readonly path: string;
  readonly action: Action | null;
  show(visit: Visiting): Promise<Shown>;
}

/** The passkey signed the terms: by whose key, and what it answered. */
export interface Signature {
  readonly text: string;
  readonly number: string;
  readonly response: string;
}

/** What is to be signed: lines of words, or texts that the signer made. */
export type ToSign =
  | {
      readonly kind: 'terms';
      readonly title: string;
      readonly lines: readonly (readonly [string, string])[];
      readonly note?: Html;
    }
  | {
      readonly kind: 'signer';
      readonly title: string;
      readonly texts: readonly (null | { readonly text: string; readonly number: string })[];
    };

/** What changes something. */
export interface ChangeRoute<Visiting extends Visit = Visit> {
  readonly path: string;
  readonly action: Action | null;
  /** What it is done to, for the record. */
  target(visit: Visiting): string;
  /**
   * Asks for a passkey's signature over these terms first. They are made again when the signature comes, and must be
   * the same.
   */
  toSign?(visit: Visiting): Promise<ToSign>;
  /** `detail` stands in the record. Throws `Refused`. */
  run(
    visit: Visiting,
    signatures: readonly (Signature | null)[],
  ): Promise<{ readonly detail: string; readonly shown: Shown }>;
}

/** Why it is done; stands in the record. Throws `Refused`. */
export function reasonIn({ form }: Visit): string {
  const reason = form['reason'] ?? '';
  if (reason === '' || reason.length > 500) throw new Refused('reason must be 1 to 500 characters');
  return reason;
}
