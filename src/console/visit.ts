import type { MerchantId, Mode } from '../domain/values/ids.ts';
import type { SignedInPerson } from '../features/people/people.ts';
import type { Html } from '../runtime/http/html.ts';
import type { Action } from './access.ts';
import type { Language } from './languages.ts';
import { words, type Label, type Words } from './words.ts';

/** A merchant as pages show it. */
export interface ShownMerchant {
  readonly id: MerchantId;
  readonly name: string;
  readonly mode: Mode;
}

/** A request of a signed-in person that has passed every check. */
export interface Visit {
  readonly person: SignedInPerson;
  readonly requestId: string;
  readonly path: string;
  /** Parts of the path. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** Fields of the form; empty for a page that is only read. */
  readonly form: Readonly<Record<string, string>>;
  /** The merchant of the path; null on pages of the whole service. */
  readonly merchant: ShownMerchant | null;
  /** Lists show only this mode. */
  readonly mode: Mode;
  /** The token that every form sends back. */
  readonly csrf: string;
  /** IANA name of the time zone in which times are shown beside UTC. */
  readonly zone: string;
  /** Of the words on the pages. */
  readonly language: Language;
  readonly nowSec: number;
  can(action: Action, merchantId?: MerchantId): boolean;
}

/** The merchant of the page. Throws `Refused`. */
export function merchantOf({ merchant }: Visit): ShownMerchant {
  if (merchant === null) throw NO_SUCH();
  return merchant;
}

/** The merchant of the page in the lines of terms: several merchants may have the same name. Throws `Refused`. */
export function merchantNamed(visit: Visit): { readonly merchant: string; readonly mode: Mode } {
  const { id, name, mode } = merchantOf(visit);
  return { merchant: `${name} (${id})`, mode };
}

/** A parameter of the path. Throws `Refused`. */
export function paramOf({ params }: Visit, name: string): string {
  const value = params[name];
  if (value === undefined) throw NO_SUCH();
  return value;
}

export interface Page {
  readonly title: Label;
  readonly body: Html;
  /** If it differs from that of the visit. */
  readonly mode?: Mode;
  readonly status?: number;
  /** The page refreshes while it is open: for what others change, if it is as cheap to show as a list. */
  readonly isLive?: boolean;
  /** Scripts besides the one for passkeys. */
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

/** A change that cannot be made; the words name the field. The record keeps them in English. */
export class Refused extends Error {
  override readonly name = 'Refused';
  readonly words: Words | string;
  readonly status: number;

  constructor(why: Words | string, status = 400) {
    super(String(why));
    this.words = why;
    this.status = status;
  }
}

export const NO_SUCH = (): Refused => new Refused(words`This page does not exist, or you may not see it.`, 404);

/** A page that is only read. */
export interface ReadRoute<Visiting extends Visit = Visit> {
  readonly path: string;
  readonly action: Action | null;
  show(visit: Visiting): Promise<Shown>;
}

/** A signature by a passkey over a text, with the text's number and the authenticator's response. */
export interface Signature {
  readonly text: string;
  readonly number: string;
  readonly response: string;
}

/** What has to be signed: lines that the console words, or texts that the signer wrote. */
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

/** A request that changes something. */
export interface ChangeRoute<Visiting extends Visit = Visit, Signed extends ToSign = ToSign> {
  readonly path: string;
  readonly action: Action | null;
  /** What the change applies to, for the record. */
  target(visit: Visiting): string;
  /**
   * The terms that a passkey has to sign first. They are made again when the signature arrives and must be the same.
   */
  toSign?(visit: Visiting): Promise<Signed>;
  /** `detail` goes into the record; `signed` are the terms that the signatures are for. Throws `Refused`. */
  run(
    visit: Visiting,
    signatures: readonly (Signature | null)[],
    signed: Signed | null,
  ): Promise<{ readonly detail: string; readonly shown: Shown }>;
}

/** The reason, which goes into the record. Throws `Refused`. */
export function reasonIn({ form }: Visit): string {
  const reason = form['reason'] ?? '';
  if (reason === '' || reason.length > 500) throw new Refused(words`reason must be 1 to 500 characters`);
  return reason;
}
