import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletRequestWrapper;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.CatalogUtil;
import org.apache.iceberg.rest.RESTCatalogAdapter;
import org.apache.iceberg.rest.RESTCatalogServlet;
import org.eclipse.jetty.ee10.servlet.ServletContextHandler;
import org.eclipse.jetty.ee10.servlet.ServletHolder;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;

/**
 * Iceberg's REST fixture on the loopback address alone, over a SQLite file and a folder: port, database, warehouse. It
 * answers below /api/catalog too, where warp looks for a catalog that is not MinIO's.
 */
class CatalogFixture {
  private static final String BELOW = "/api/catalog";

  private static class Servlet extends RESTCatalogServlet {
    Servlet(RESTCatalogAdapter adapter) {
      super(adapter);
    }

    @Override
    protected void service(HttpServletRequest request, HttpServletResponse response)
        throws ServletException, IOException {
      if (!request.getRequestURI().startsWith(BELOW + "/")) {
        super.service(request, response);
        return;
      }
      super.service(
          new HttpServletRequestWrapper(request) {
            @Override
            public String getRequestURI() {
              return super.getRequestURI().substring(BELOW.length());
            }
          },
          response);
    }
  }

  public static void main(String[] args) throws Exception {
    var settings =
        Map.of(
            "catalog-impl", "org.apache.iceberg.jdbc.JdbcCatalog",
            "uri", "jdbc:sqlite:" + args[1],
            "jdbc.schema-version", "V1",
            "warehouse", args[2]);
    var catalog = CatalogUtil.buildIcebergCatalog("rest_backend", settings, new Configuration());
    var context = new ServletContextHandler(ServletContextHandler.NO_SESSIONS);
    context.addServlet(new ServletHolder(new Servlet(new RESTCatalogAdapter(catalog))), "/*");
    var server = new Server();
    var connector = new ServerConnector(server);
    connector.setHost("127.0.0.1");
    connector.setPort(Integer.parseInt(args[0]));
    server.addConnector(connector);
    server.setHandler(context);
    server.start();
    server.join();
  }
}
