import { RecentMap } from '../../runtime/recent-map.ts';
import type { StreamHead } from './committer.ts';

/** The heads of the streams written last, so that appends to them need no look-up. */
export class StreamHeads extends RecentMap<string, StreamHead> {}
