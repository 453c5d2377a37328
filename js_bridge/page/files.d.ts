/** Files that a browser keeps for a site, and downloads for the user. */

/** Python memory: an object with the buffer protocol. */
export interface Memory {
  getBuffer(type: "u8"): { data: Uint8Array<ArrayBuffer>; release(): void };
}

/** A file that is being written; nobody sees it before `close`. */
export interface Writer {
  write(part: Memory): Promise<void>;
  close(): Promise<void>;
  abort(): Promise<void>;
}

/** A file that is kept, as it is now. */
export interface Kept {
  size: number;
  /** Copy all of it to memory of its size. */
  copy(target: Memory): Promise<void>;
}

/**
 * Keep other pages and workers of the site from writing and removing the file of this name until
 * `release` was called as often as `claim`. An error named "InUse" says that another one has it.
 */
export function claim(name: string): Promise<void>;

/** Release a name that was claimed. */
export function release(name: string): Promise<void>;

/** Begin a file that replaces the one of this name, if there is one; it is claimed meanwhile. */
export function writer(name: string): Promise<Writer>;

/** Return a file, undefined if there is none. */
export function read(name: string): Promise<Kept | undefined>;

/** Remove a file, if there is one. */
export function drop(name: string): Promise<void>;

/** Begin a file that the browser saves among the user's downloads. */
export function download(name: string): Writer;

/** Return a promise that is settled when the page is next hidden or left; never in a worker. */
export function hidden(): Promise<void>;
