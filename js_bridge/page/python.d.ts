/** Starts Python with webnnm. */

/** What is loaded in addition. */
export interface Start {
  /** Names in `vendor/pyodide/pyodide-lock.json`, or addresses of wheels. */
  packages?: string[];
  /**
   * Addresses of models that Python is going to load from there: they are fetched while it starts.
   */
  files?: string[];
}

/**
 * Start Pyodide with the package webnnm and the modules that it needs for WebNN, for downloads and
 * for the browser's storage; return Pyodide.
 */
export function startPython(start?: Start): Promise<any>;
